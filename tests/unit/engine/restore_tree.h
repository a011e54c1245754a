/* SPDX-License-Identifier: Apache-2.0
 *
 * restore_tree.h - snapshots made by hand, in a repository in memory.
 *
 * Nodes describe a tree; tree_commit stores it. Everything is freed by tree_close.
 */
#ifndef CAIRN_TESTS_UNIT_ENGINE_RESTORE_TREE_H
#define CAIRN_TESTS_UNIT_ENGINE_RESTORE_TREE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/backend.h"
#include "snapshot/entry.h"
#include "snapshot/manifest.h"
#include "store/store.h"

/* Content of seed 0 is a hole; else bytes that follow from the seed. */
struct tree_extent {
    uint64_t len;
    uint64_t seed;
};

struct tree_node {
    struct cairn_entry entry;
    char *name;
    struct tree_node **children;
    size_t child_count, child_cap;
    struct tree_extent *extents;
    size_t extent_count;
    struct cairn_buf data; /* inline content or xattrs */
    bool is_stored;        /* entry.directory was given by the test */
};

struct tree {
    struct cairn_backend *backend;
    struct cairn_store *store;
    struct cairn_session *session;
    struct cairn_lane *data, *metadata;
    struct tree_node *root;
    struct cairn_manifest manifest;
};

/* An empty repository and a session. */
void tree_open(struct tree *tree);
void tree_close(struct tree *tree);

/* Frees a node that hangs on no root, and all below it. */
void tree_free(struct tree_node *node);

/* Adds an entry of a type with mode 0755 or 0644, the process's ids and a fixed time. */
struct tree_node *tree_add(struct tree_node *parent, int type, const char *name);
struct tree_node *tree_dir(struct tree_node *parent, const char *name);
struct tree_node *tree_inline(struct tree_node *parent, const char *name, const char *bytes);
struct tree_node *tree_symlink(struct tree_node *parent, const char *name, const char *to);

/* A file of count extents. */
struct tree_node *tree_file(struct tree_node *parent, const char *name,
                            const struct tree_extent *extents, size_t count);

/* Adds an extended attribute. */
void tree_xattr(struct tree_node *node, const char *name, const char *value);

/* Stores a directory with these entries now; *id names it. */
void tree_store(struct tree *tree, struct tree_node *node, struct cairn_id *id);

/* Stores the root and commits; fills in tree->manifest. */
void tree_commit(struct tree *tree);

/* The bytes of an extent. */
void tree_fill(void *out, size_t len, uint64_t seed);

#endif
