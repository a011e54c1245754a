/* SPDX-License-Identifier: Apache-2.0 */
#include "restore_tree.h"

#include <unistd.h>

#include "backend/memory.h"
#include "base/alloc.h"
#include "snapshot/content.h"
#include "snapshot/tree.h"

#define CHUNK_MAX (1u << 20)

static void must(int status, const struct cairn_error *err)
{
    if (status != CAIRN_OK)
        fail_msg("%s", err->message);
}

void tree_open(struct tree *tree)
{
    static const uint8_t key[32] = {7};
    static const struct cairn_credentials credentials = {.key_file_key = key};
    struct cairn_store_options options = {.credentials = &credentials};
    const struct cairn_store_init init = {.aead = CAIRN_AEAD_AES_256_GCM,
                                          .chunker = CAIRN_CHUNKER_DYNAMIC,
                                          .chunk_avg = CHUNK_MAX,
                                          .level = CAIRN_LEVEL_NONE};
    const struct cairn_session_options session = {.level = CAIRN_LEVEL_NONE};
    struct cairn_error err = {0};
    memset(tree, 0, sizeof(*tree));
    must(cairn_memory_backend_new(&options.backend, &err), &err);
    tree->backend = options.backend;
    must(cairn_store_init(&options, &init, &tree->store, &err), &err);
    must(cairn_session_open(tree->store, &session, &tree->session, &err), &err);
    must(cairn_lane_new(tree->session, CAIRN_KIND_DATA, CHUNK_MAX, &tree->data, &err), &err);
    must(cairn_lane_new(tree->session, CAIRN_KIND_METADATA, CHUNK_MAX, &tree->metadata, &err),
         &err);
    tree->root = tree_dir(NULL, "");
}

void tree_free(struct tree_node *node)
{
    for (size_t i = 0; i < node->child_count; i++)
        tree_free(node->children[i]);
    free(node->children);
    free(node->extents);
    free(node->name);
    cairn_buf_release(&node->data);
    free(node);
}

void tree_close(struct tree *tree)
{
    tree_free(tree->root);
    cairn_manifest_release(&tree->manifest);
    cairn_session_abort(tree->session);
    cairn_store_close(tree->store);
}

struct tree_node *tree_add(struct tree_node *parent, int type, const char *name)
{
    struct tree_node *node = calloc(1, sizeof(*node));
    assert_non_null(node);
    node->name = strdup(name);
    node->entry = (struct cairn_entry){
        .type = type,
        .name = {(const uint8_t *)node->name, strlen(name)},
        .mode = type == CAIRN_ENTRY_DIRECTORY ? 0755 : 0644,
        .uid = geteuid(),
        .gid = getegid(),
        .mtime = {1234567890, 123456789},
    };
    if (parent) {
        if (parent->child_count == parent->child_cap) {
            parent->child_cap = parent->child_cap ? parent->child_cap * 2 : 8;
            parent->children =
                realloc(parent->children, parent->child_cap * sizeof(struct tree_node *));
        }
        parent->children[parent->child_count++] = node;
    }
    return node;
}

struct tree_node *tree_dir(struct tree_node *parent, const char *name)
{
    return tree_add(parent, CAIRN_ENTRY_DIRECTORY, name);
}

struct tree_node *tree_inline(struct tree_node *parent, const char *name, const char *bytes)
{
    struct tree_node *node = tree_add(parent, CAIRN_ENTRY_FILE, name);
    cairn_buf_put(&node->data, bytes, strlen(bytes));
    node->entry.size = strlen(bytes);
    node->entry.has_inline = node->entry.size > 0;
    node->entry.inline_data = (struct cairn_slice){node->data.data, node->data.len};
    return node;
}

struct tree_node *tree_symlink(struct tree_node *parent, const char *name, const char *to)
{
    struct tree_node *node = tree_add(parent, CAIRN_ENTRY_SYMLINK, name);
    cairn_buf_put(&node->data, to, strlen(to));
    node->entry.mode = 0777;
    node->entry.link = (struct cairn_slice){node->data.data, node->data.len};
    return node;
}

struct tree_node *tree_file(struct tree_node *parent, const char *name,
                            const struct tree_extent *extents, size_t count)
{
    struct tree_node *node = tree_add(parent, CAIRN_ENTRY_FILE, name);
    node->extents = calloc(count, sizeof(*extents));
    memcpy(node->extents, extents, count * sizeof(*extents));
    node->extent_count = count;
    for (size_t i = 0; i < count; i++)
        node->entry.size += extents[i].len;
    return node;
}

void tree_xattr(struct tree_node *node, const char *name, const char *value)
{
    cairn_xattr_encode(&node->data, name, strlen(name), value, strlen(value));
    node->entry.xattrs = (struct cairn_slice){node->data.data, node->data.len};
}

void tree_fill(void *out, size_t len, uint64_t seed)
{
    uint8_t *bytes = out;
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (size_t i = 0; i < len; i += sizeof(state)) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        memcpy(bytes + i, &state, len - i < sizeof(state) ? len - i : sizeof(state));
    }
}

static int by_name(const void *a, const void *b)
{
    const struct tree_node *x = *(struct tree_node *const *)a;
    const struct tree_node *y = *(struct tree_node *const *)b;
    return strcmp(x->name, y->name);
}

/* Stores the content of a file; the list stays in the builder until it is cleared. */
static void store_content(struct tree *tree, struct tree_node *node,
                          struct cairn_content_builder *builder)
{
    static uint8_t buffer[CHUNK_MAX];
    struct cairn_error err = {0};
    cairn_content_builder_clear(builder);
    for (size_t i = 0; i < node->extent_count; i++) {
        const struct tree_extent *e = &node->extents[i];
        struct cairn_id id;
        if (e->seed != 0) {
            tree_fill(buffer, e->len, e->seed);
            must(cairn_lane_put(tree->data, buffer, e->len, &id, NULL, &err), &err);
        }
        must(cairn_content_add(builder, tree->metadata, e->seed ? &id : NULL, e->len, &err), &err);
    }
    must(cairn_content_finish(builder, tree->metadata, &node->entry.content_level,
                              &node->entry.content, &err),
         &err);
    node->entry.has_content = true;
}

void tree_store(struct tree *tree, struct tree_node *node, struct cairn_id *id)
{
    struct cairn_tree_builder builder = {0};
    struct cairn_content_builder content = {0};
    struct cairn_error err = {0};
    const uint8_t *key = cairn_store_keys(tree->store)->directory_split;
    if (node->child_count > 0)
        qsort(node->children, node->child_count, sizeof(struct tree_node *), by_name);
    for (size_t i = 0; i < node->child_count; i++) {
        struct tree_node *child = node->children[i];
        if (child->extent_count > 0)
            store_content(tree, child, &content);
        if (child->entry.type == CAIRN_ENTRY_DIRECTORY && !child->is_stored) {
            tree_store(tree, child, &child->entry.directory);
            child->entry.has_directory = true;
        }
        must(cairn_tree_add(&builder, tree->metadata, key, &child->entry, &err), &err);
    }
    must(cairn_tree_finish(&builder, tree->metadata, key, id, &err), &err);
    cairn_tree_builder_release(&builder);
    cairn_content_builder_release(&content);
}

void tree_commit(struct tree *tree)
{
    struct cairn_error err = {0};
    struct cairn_id snapshot;
    struct cairn_session_stats stats;
    int level;
    struct cairn_session *session = tree->session;
    tree_store(tree, tree->root, &tree->manifest.root);
    cairn_buf_put_u8(&tree->manifest.root_fields, CAIRN_ENTRY_DIRECTORY);
    cairn_entry_encode_fields(&tree->root->entry, false, &tree->manifest.root_fields);
    tree->session = NULL;
    must(cairn_session_commit(session, "", 0, &snapshot, &level, &stats, &err), &err);
}
