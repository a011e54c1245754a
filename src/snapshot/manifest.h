/* SPDX-License-Identifier: Apache-2.0
 *
 * manifest.h - what a snapshot is (docs/format.md, section 10).
 */
#ifndef CAIRN_SNAPSHOT_MANIFEST_H
#define CAIRN_SNAPSHOT_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

#include "base/buffer.h"
#include "base/reader.h"
#include "snapshot/entry.h"

/* A list of byte strings, owned, each NUL-terminated. */
struct cairn_strings {
    char **items;
    size_t count;
};

void cairn_strings_release(struct cairn_strings *strings);
int cairn_strings_add(struct cairn_strings *strings, const void *bytes, size_t len,
                      struct cairn_error *err);

/* A manifest. Everything in it is owned. */
struct cairn_manifest {
    int64_t begun_ns, ended_ns;
    char *host, *user, *program;
    struct cairn_strings paths, tags, options;
    bool has_parent;
    struct cairn_id parent;
    struct cairn_id root;         /* directory chunk of / */
    struct cairn_buf root_fields; /* field 9: type and fields of / */
    bool has_changes;
    struct cairn_id changes; /* node of the change-detection stream */
    uint64_t files, dirs, others, bytes, bytes_added, problems;
    bool has_problem_list;
    struct cairn_id problem_list;
};

void cairn_manifest_release(struct cairn_manifest *manifest);

/* Appends the encoded manifest to out. */
void cairn_manifest_encode(const struct cairn_manifest *manifest, struct cairn_buf *out);

/* Parses a manifest. CORRUPT, UNSUPPORTED, NO_MEMORY. The caller releases out. */
int cairn_manifest_decode(const void *bytes, size_t len, struct cairn_manifest *out,
                          struct cairn_error *err);

/* The entry of / from root_fields (slices lead into the manifest), directory set. CORRUPT. */
int cairn_manifest_root(const struct cairn_manifest *manifest, struct cairn_entry *out,
                        struct cairn_error *err);

#endif
