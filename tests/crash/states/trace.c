/* SPDX-License-Identifier: Apache-2.0 */
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/memory.h"
#include "base/io.h"
#include "crypto/hash.h"

#define FDS 4096
#define NODES 65536

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct trace *active;
static char active_root[4096];
static int node_of_fd[FDS]; /* node + 1 */

/* The live namespace: name of each node in its directory (a node has one name here; links make a
 * second record). */
static struct live {
    int dir, node;
    char name[96];
} * live;
static size_t live_count;

static void *must(void *p)
{
    if (p == NULL)
        abort();
    return p;
}

static struct live *find_live(int dir, const char *name)
{
    for (size_t i = 0; i < live_count; i++) {
        if (live[i].dir == dir && strcmp(live[i].name, name) == 0)
            return &live[i];
    }
    return NULL;
}

static void add_live(int dir, const char *name, int node)
{
    if (live == NULL)
        live = must(calloc(NODES, sizeof(*live)));
    if (live_count == NODES)
        abort();
    live[live_count].dir = dir;
    live[live_count].node = node;
    (void)snprintf(live[live_count].name, sizeof(live[0].name), "%s", name);
    live_count++;
}

static struct op *new_op(int kind)
{
    struct trace *t = active;
    if (t->count == t->cap) {
        t->cap = t->cap ? t->cap * 2 : 256;
        t->ops = must(realloc(t->ops, t->cap * sizeof(*t->ops)));
    }
    struct op *op = &t->ops[t->count++];
    memset(op, 0, sizeof(*op));
    op->kind = kind;
    return op;
}

static int new_node(bool is_dir)
{
    struct trace *t = active;
    if (t->is_dir == NULL)
        t->is_dir = must(calloc(NODES, 1));
    if (t->nodes == NODES)
        abort();
    t->is_dir[t->nodes] = is_dir;
    return t->nodes++;
}

static int node_at(int fd)
{
    return fd >= 0 && fd < FDS ? node_of_fd[fd] - 1 : -1;
}

static int traced_openat(int dir, const char *name, int flags, mode_t mode)
{
    (void)pthread_mutex_lock(&lock);
    int fd = cairn_io_system()->openat(dir, name, flags, mode);
    int saved = errno;
    if (fd >= FDS)
        abort();
    if (fd >= 0) {
        int parent = dir == AT_FDCWD ? -1 : node_at(dir);
        node_of_fd[fd] = 0;
        if (dir == AT_FDCWD && strcmp(name, active_root) == 0) {
            node_of_fd[fd] = 1;
        } else if (parent >= 0 && strcmp(name, ".") == 0) {
            node_of_fd[fd] = parent + 1;
        } else if (parent >= 0 && strcmp(name, "..") != 0) {
            struct live *found = find_live(parent, name);
            if (found == NULL && (flags & O_CREAT)) {
                struct op *op = new_op(OP_CREATE);
                op->dir = parent;
                op->node = new_node(false);
                (void)snprintf(op->name, sizeof(op->name), "%s", name);
                add_live(parent, name, op->node);
                node_of_fd[fd] = op->node + 1;
            } else if (found) {
                node_of_fd[fd] = found->node + 1;
            }
        }
    }
    (void)pthread_mutex_unlock(&lock);
    errno = saved;
    return fd;
}

static int traced_close(int fd)
{
    (void)pthread_mutex_lock(&lock);
    if (fd >= 0 && fd < FDS)
        node_of_fd[fd] = 0;
    int n = cairn_io_system()->close(fd);
    (void)pthread_mutex_unlock(&lock);
    return n;
}

static ssize_t traced_pwrite(int fd, const void *buf, size_t len, off_t at)
{
    (void)pthread_mutex_lock(&lock);
    ssize_t n = cairn_io_system()->pwrite(fd, buf, len, at);
    int saved = errno;
    if (n > 0 && node_at(fd) >= 0) {
        struct op *op = new_op(OP_WRITE);
        op->node = node_at(fd);
        op->at = (uint64_t)at;
        op->len = (size_t)n;
        op->data = must(malloc(op->len));
        memcpy(op->data, buf, op->len);
    }
    (void)pthread_mutex_unlock(&lock);
    errno = saved;
    return n;
}

static int traced_sync(int fd, int (*real)(int), int kind)
{
    /* Recorded before it returns and after it was called: what was written before counts. */
    (void)pthread_mutex_lock(&lock);
    int n = real(fd);
    int saved = errno;
    if (n == 0 && node_at(fd) >= 0)
        new_op(kind)->node = node_at(fd);
    (void)pthread_mutex_unlock(&lock);
    errno = saved;
    return n;
}

static int traced_fsync(int fd)
{
    return traced_sync(fd, cairn_io_system()->fsync, OP_SYNC);
}

static int traced_fdatasync(int fd)
{
    return traced_sync(fd, cairn_io_system()->fdatasync, OP_SYNC);
}

static int traced_syncfs(int fd)
{
    return traced_sync(fd, cairn_io_system()->syncfs, OP_SYNCFS);
}

static int traced_renameat2(int from_dir, const char *from, int to_dir, const char *to,
                            unsigned flags)
{
    (void)pthread_mutex_lock(&lock);
    int n = cairn_io_system()->renameat2(from_dir, from, to_dir, to, flags);
    int saved = errno;
    struct live *found = n == 0 ? find_live(node_at(from_dir), from) : NULL;
    if (found) {
        struct op *op = new_op(OP_RENAME);
        op->node = found->node;
        op->dir = node_at(from_dir);
        op->to_dir = node_at(to_dir);
        (void)snprintf(op->name, sizeof(op->name), "%s", from);
        (void)snprintf(op->to_name, sizeof(op->to_name), "%s", to);
        found->dir = op->to_dir;
        (void)snprintf(found->name, sizeof(found->name), "%s", to);
    }
    (void)pthread_mutex_unlock(&lock);
    errno = saved;
    return n;
}

static int traced_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    (void)pthread_mutex_lock(&lock);
    int n = cairn_io_system()->linkat(from_dir, from, to_dir, to, flags);
    int saved = errno;
    struct live *found = n == 0 ? find_live(node_at(from_dir), from) : NULL;
    if (found) {
        struct op *op = new_op(OP_LINK);
        op->node = found->node;
        op->to_dir = node_at(to_dir);
        (void)snprintf(op->to_name, sizeof(op->to_name), "%s", to);
        add_live(op->to_dir, to, op->node);
    }
    (void)pthread_mutex_unlock(&lock);
    errno = saved;
    return n;
}

static int traced_unlinkat(int dir, const char *name, int flags)
{
    (void)pthread_mutex_lock(&lock);
    int n = cairn_io_system()->unlinkat(dir, name, flags);
    int saved = errno;
    struct live *found = n == 0 && node_at(dir) >= 0 ? find_live(node_at(dir), name) : NULL;
    if (found) {
        struct op *op = new_op(OP_UNLINK);
        op->dir = node_at(dir);
        op->node = found->node;
        (void)snprintf(op->name, sizeof(op->name), "%s", name);
        *found = live[--live_count];
    }
    (void)pthread_mutex_unlock(&lock);
    errno = saved;
    return n;
}

static int traced_mkdirat(int dir, const char *name, mode_t mode)
{
    (void)pthread_mutex_lock(&lock);
    int n = cairn_io_system()->mkdirat(dir, name, mode);
    int saved = errno;
    if (n == 0 && dir != AT_FDCWD && node_at(dir) >= 0) {
        struct op *op = new_op(OP_MKDIR);
        op->dir = node_at(dir);
        op->node = new_node(true);
        (void)snprintf(op->name, sizeof(op->name), "%s", name);
        add_live(op->dir, name, op->node);
    }
    (void)pthread_mutex_unlock(&lock);
    errno = saved;
    return n;
}

static struct cairn_io_ops traced;

void trace_start(struct trace *trace, const char *root)
{
    traced = *cairn_io_system();
    traced.openat = traced_openat;
    traced.close = traced_close;
    traced.pwrite = traced_pwrite;
    traced.fsync = traced_fsync;
    traced.fdatasync = traced_fdatasync;
    traced.syncfs = traced_syncfs;
    traced.renameat2 = traced_renameat2;
    traced.linkat = traced_linkat;
    traced.unlinkat = traced_unlinkat;
    traced.mkdirat = traced_mkdirat;
    memset(node_of_fd, 0, sizeof(node_of_fd));
    active = trace;
    (void)snprintf(active_root, sizeof(active_root), "%s", root);
    if (trace->nodes == 0) {
        live_count = 0;
        (void)new_node(true);
    }
    cairn_io_set(&traced);
}

void trace_stop(void)
{
    cairn_io_set(NULL);
    active = NULL;
}

void trace_mark(struct trace *trace)
{
    struct trace *before = active;
    (void)pthread_mutex_lock(&lock);
    active = trace;
    (void)new_op(OP_MARK);
    active = before;
    (void)pthread_mutex_unlock(&lock);
}

void trace_release(struct trace *trace)
{
    for (size_t i = 0; i < trace->count; i++)
        free(trace->ops[i].data);
    free(trace->ops);
    free(trace->is_dir);
    memset(trace, 0, sizeof(*trace));
}

void trace_copy(const struct trace *from, struct trace *to)
{
    *to = *from;
    to->ops = must(malloc(from->count * sizeof(*to->ops)));
    memcpy(to->ops, from->ops, from->count * sizeof(*to->ops));
    to->cap = from->count;
}

void trace_durable(const struct trace *trace, size_t count, bool *durable)
{
    memset(durable, 0, count * sizeof(*durable));
    for (size_t s = 0; s < count; s++) {
        const struct op *sync = &trace->ops[s];
        if (sync->kind != OP_SYNC && sync->kind != OP_SYNCFS)
            continue;
        for (size_t i = 0; i < s; i++) {
            const struct op *op = &trace->ops[i];
            bool is_name = op->kind != OP_WRITE;
            int place = op->kind == OP_RENAME || op->kind == OP_LINK ? op->to_dir : op->dir;
            if (sync->kind == OP_SYNCFS || (is_name ? place == sync->node : op->node == sync->node))
                durable[i] = true;
        }
    }
}

/* The namespace of a state while it is built. */
struct place {
    int dir, node;
    const char *name;
    bool gone;
};

static struct place *find_place(struct place *places, size_t count, int dir, const char *name)
{
    for (size_t i = count; i-- > 0;) {
        if (!places[i].gone && places[i].dir == dir && strcmp(places[i].name, name) == 0)
            return &places[i];
    }
    return NULL;
}

/* The object name of a place, or false if it does not hang together or lies below tmp/. */
static bool full_name(const struct place *places, size_t count, const struct place *file,
                      char out[CAIRN_BACKEND_NAME_MAX + 1])
{
    char name[256], next[512];
    (void)snprintf(name, sizeof(name), "%s", file->name);
    for (int dir = file->dir; dir != 0;) {
        const struct place *up = NULL;
        for (size_t i = 0; i < count && up == NULL; i++) {
            if (!places[i].gone && places[i].node == dir)
                up = &places[i];
        }
        if (up == NULL)
            return false;
        (void)snprintf(next, sizeof(next), "%s/%s", up->name, name);
        (void)snprintf(name, sizeof(name), "%.250s", next);
        dir = up->dir;
    }
    if (strncmp(name, "tmp/", 4) == 0 || strlen(name) > CAIRN_BACKEND_NAME_MAX)
        return false;
    (void)strcpy(out, name);
    return true;
}

/* The bytes of a file in a state. */
static uint8_t *contents(const struct trace *trace, const struct choice *choice, int node,
                         size_t *len)
{
    uint8_t *bytes = must(calloc(1, 1));
    size_t size = 0;
    for (size_t i = 0; i < choice->count; i++) {
        const struct op *op = &trace->ops[i];
        if (op->kind != OP_WRITE || op->node != node || !choice->keep[i])
            continue;
        size_t take = i == choice->torn && choice->torn_len < op->len ? choice->torn_len : op->len;
        if (op->at + take > size) {
            bytes = must(realloc(bytes, op->at + take));
            memset(bytes + size, 0, op->at + take - size);
            size = (size_t)op->at + take;
        }
        memcpy(bytes + op->at, op->data, take);
    }
    *len = size;
    return bytes;
}

static uint64_t mix(uint64_t hash, const void *data, size_t len)
{
    struct cairn_id id;
    struct cairn_hasher hasher;
    cairn_hasher_init(&hasher, NULL);
    cairn_hasher_update(&hasher, &hash, sizeof(hash));
    cairn_hasher_update(&hasher, data, len);
    cairn_hasher_final(&hasher, &id);
    return cairn_load_u64(id.bytes);
}

struct cairn_backend *trace_state(const struct trace *trace, const struct choice *choice,
                                  uint64_t *hash)
{
    struct place *places = must(calloc(choice->count + 1, sizeof(*places)));
    size_t count = 0;
    struct cairn_backend *backend = NULL;
    if (cairn_memory_backend_new(&backend, NULL) != CAIRN_OK)
        abort();
    for (size_t i = 0; i < choice->count; i++) {
        const struct op *op = &trace->ops[i];
        struct place *at;
        if (!choice->keep[i])
            continue;
        switch (op->kind) {
        case OP_CREATE:
        case OP_MKDIR:
            places[count++] = (struct place){op->dir, op->node, op->name, false};
            break;
        case OP_LINK:
            places[count++] = (struct place){op->to_dir, op->node, op->to_name, false};
            break;
        case OP_RENAME:
            at = find_place(places, count, op->dir, op->name);
            if (at && at->node == op->node)
                at->gone = true;
            places[count++] = (struct place){op->to_dir, op->node, op->to_name, false};
            break;
        case OP_UNLINK:
            at = find_place(places, count, op->dir, op->name);
            if (at && at->node == op->node)
                at->gone = true;
            break;
        default:
            break;
        }
    }
    *hash = 0;
    for (size_t i = 0; i < count; i++) {
        char name[CAIRN_BACKEND_NAME_MAX + 1];
        size_t len;
        if (places[i].gone || trace->is_dir[places[i].node] ||
            !full_name(places, count, &places[i], name))
            continue;
        uint8_t *bytes = contents(trace, choice, places[i].node, &len);
        if (cairn_memory_backend_set(backend, name, bytes, len, NULL) != CAIRN_OK)
            abort();
        *hash ^= mix(mix(1, name, strlen(name)), bytes, len);
        free(bytes);
    }
    free(places);
    return backend;
}
