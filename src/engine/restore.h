/* SPDX-License-Identifier: Apache-2.0
 *
 * restore.h - writing a snapshot, or a path of one, into an empty directory
 * (docs/design/restore.md).
 */
#ifndef CAIRN_ENGINE_RESTORE_H
#define CAIRN_ENGINE_RESTORE_H

#include <cairn/cairn.h>

#include "snapshot/manifest.h"
#include "store/store.h"

/* Restores as cairn_restore promises. threads: workers beside the calling thread; 0: one per core.
 * Events are sent on the calling thread; their paths are those of the snapshot, from its root.
 * *result is filled in on success only. EXISTS: the target is not empty; MISUSE: it is no
 * directory, or its name is empty; NOT_FOUND: the snapshot has no such path; CORRUPT: the root of
 * what was asked for cannot be read; IO: the target cannot be written at all, or its sync failed;
 * NO_SPACE: the target's file system is full; NO_MEMORY; CANCELLED. After a failure the target
 * holds a part of the snapshot in which every regular file that is there is whole. Memory: below 64
 * MiB at up to eight workers, whatever the sizes, and about 16 bytes for each group of hard links
 * and 1 KiB for each directory above the current one. */
int cairn_restore_run(struct cairn_store *store, const struct cairn_manifest *manifest,
                      const struct cairn_restore_options *options, unsigned threads,
                      struct cairn_restore_result *result, struct cairn_error *err);

#endif
