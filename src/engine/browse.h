/* SPDX-License-Identifier: Apache-2.0
 *
 * browse.h - finding a path in a snapshot.
 */
#ifndef CAIRN_ENGINE_BROWSE_H
#define CAIRN_ENGINE_BROWSE_H

#include <cairn/cairn.h>

#include "engine/repo.h"
#include "snapshot/entry.h"
#include "snapshot/tree.h"

/* Finds what a path ("" or "/" or NULL: the root) names. Slices of *out lead into reader or
 * manifest, which stay the caller's. NOT_FOUND, CORRUPT, IO. */
int cairn_browse_find(struct cairn_fetcher *fetcher, struct cairn_tree_reader *reader,
                      const struct cairn_manifest *manifest, const char *path,
                      struct cairn_entry *out, struct cairn_error *err);

#endif
