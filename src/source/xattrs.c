/* SPDX-License-Identifier: Apache-2.0 */
#include "source/xattrs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "base/alloc.h"
#include "base/error.h"

#define LIST_FIRST_BYTES 4096u
#define LIST_MAX_BYTES (16u << 20)
#define VALUE_FIRST_BYTES 1024u
#define VALUE_MAX_BYTES 65536u /* the kernel's own limit */
#define TRIES 16

/* What to read from: a descriptor, or a path below /proc that leads to it. */
struct target {
    int fd;
    bool is_path;
    bool is_followed; /* the path's last component is a link of /proc */
    char path[64 + 4096];
};

static ssize_t list_names(const struct target *t, void *buf, size_t len)
{
    if (!t->is_path)
        return flistxattr(t->fd, buf, len);
    return t->is_followed ? listxattr(t->path, buf, len) : llistxattr(t->path, buf, len);
}

static ssize_t get_value(const struct target *t, const char *name, void *buf, size_t len)
{
    if (!t->is_path)
        return fgetxattr(t->fd, name, buf, len);
    return t->is_followed ? getxattr(t->path, name, buf, len) : lgetxattr(t->path, name, buf, len);
}

static void lose(struct cairn_xattrs *xattrs, int os_errno, size_t count)
{
    if (!xattrs->is_lossy)
        xattrs->lost_errno = os_errno;
    xattrs->is_lossy = true;
    xattrs->lost += count;
}

/* The kernel refuses to list more than 64 KiB of names. Those that matter most have fixed names. */
static int list_known(struct cairn_xattrs *xattrs)
{
    static const char known[] =
        "security.capability\0security.ima\0security.evm\0security.selinux\0"
        "system.posix_acl_access\0system.posix_acl_default";
    cairn_buf_put(&xattrs->list, known, sizeof(known));
    return xattrs->list.failed ? ENOMEM : 0;
}

/* Reads all names into xattrs->list. 0 or ENOMEM. */
static int read_list(struct target *t, struct cairn_xattrs *xattrs)
{
    size_t room = LIST_FIRST_BYTES;
    for (int tries = 0; tries < TRIES; tries++) {
        if (!cairn_buf_reserve(&xattrs->list, room))
            return ENOMEM;
        ssize_t n = list_names(t, xattrs->list.data, room);
        if (n >= 0) {
            xattrs->list.len = (size_t)n;
            return 0;
        }
        if (errno == EBADF && !t->is_path) {
            (void)snprintf(t->path, sizeof(t->path), "/proc/self/fd/%d", t->fd);
            t->is_path = t->is_followed = true;
        } else if (errno == ERANGE && room < LIST_MAX_BYTES) {
            room *= 4;
        } else if (errno == ENOTSUP || errno == ENOSYS) {
            return 0;
        } else if (errno == E2BIG) {
            lose(xattrs, E2BIG, 0);
            return list_known(xattrs);
        } else {
            break;
        }
    }
    lose(xattrs, errno, 0);
    return 0;
}

/* Appends the value of name to xattrs->bytes. 0, or an errno (ENODATA: there is none). */
static int read_value(const struct target *t, const char *name, struct cairn_xattrs *xattrs,
                      size_t *len)
{
    size_t room = VALUE_FIRST_BYTES;
    for (;;) {
        if (!cairn_buf_reserve(&xattrs->bytes, room))
            return ENOMEM;
        ssize_t n = get_value(t, name, xattrs->bytes.data + xattrs->bytes.len, room);
        if (n >= 0) {
            xattrs->bytes.len += (size_t)n;
            *len = (size_t)n;
            return 0;
        }
        if (errno != ERANGE || room >= VALUE_MAX_BYTES)
            return errno;
        room = VALUE_MAX_BYTES;
    }
}

static int add_item(struct cairn_xattrs *xattrs, const char *name, size_t name_len,
                    size_t value_len)
{
    if (xattrs->count == xattrs->cap) {
        size_t cap = xattrs->cap * 2 + 8;
        struct cairn_xattr *items = cairn_realloc(xattrs->items, cap, sizeof(*items));
        if (!items)
            return ENOMEM;
        xattrs->items = items;
        xattrs->cap = cap;
    }
    xattrs->items[xattrs->count++] = (struct cairn_xattr){
        .name = (const uint8_t *)name, .name_len = name_len, .value_len = value_len};
    return 0;
}

/* Reads the values of all names in the list, in its order. 0 or ENOMEM. */
static int read_values(const struct target *t, struct cairn_xattrs *xattrs)
{
    const char *list = (const char *)xattrs->list.data;
    for (size_t at = 0; at < xattrs->list.len;) {
        const char *name = list + at;
        size_t name_len = strnlen(name, xattrs->list.len - at);
        if (at + name_len == xattrs->list.len) {
            lose(xattrs, EIO, 1); /* not terminated */
            break;
        }
        at += name_len + 1;
        if (name_len == 0)
            continue;
        size_t value_len = 0;
        int failed = read_value(t, name, xattrs, &value_len);
        if (failed == ENOMEM)
            return ENOMEM;
        /* Of the known names that are merely tried, most are not there. */
        bool is_tried = xattrs->is_lossy && failed == ENOTSUP;
        if (failed && failed != ENODATA && !is_tried)
            lose(xattrs, failed, 1);
        if (failed == 0 && add_item(xattrs, name, name_len, value_len) != 0)
            return ENOMEM;
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct cairn_xattr *x = a, *y = b;
    return strcmp((const char *)x->name, (const char *)y->name);
}

static int read_all(struct target *t, struct cairn_xattrs *xattrs, struct cairn_error *err)
{
    xattrs->count = 0;
    xattrs->lost = 0;
    xattrs->is_lossy = false;
    xattrs->lost_errno = 0;
    cairn_buf_clear(&xattrs->list);
    cairn_buf_clear(&xattrs->bytes);
    int failed = read_list(t, xattrs);
    if (failed == 0 && xattrs->list.len > 0)
        failed = read_values(t, xattrs);
    if (failed) {
        xattrs->count = 0;
        return cairn_error_no_memory(err, "extended attributes");
    }
    /* Only now do the values stay where they are. */
    const uint8_t *value = xattrs->bytes.data;
    for (size_t i = 0; i < xattrs->count; i++) {
        xattrs->items[i].value = value;
        value += xattrs->items[i].value_len;
    }
    if (xattrs->count > 1)
        qsort(xattrs->items, xattrs->count, sizeof(*xattrs->items), compare);
    return CAIRN_OK;
}

void cairn_xattrs_release(struct cairn_xattrs *xattrs)
{
    cairn_free(xattrs->items);
    cairn_buf_release(&xattrs->bytes);
    cairn_buf_release(&xattrs->list);
    *xattrs = (struct cairn_xattrs)CAIRN_XATTRS_INIT;
}

int cairn_xattrs_read(int fd, struct cairn_xattrs *xattrs, struct cairn_error *err)
{
    struct target t;
    t.fd = fd;
    t.is_path = t.is_followed = false;
    return read_all(&t, xattrs, err);
}

int cairn_xattrs_read_at(int dir, const char *name, struct cairn_xattrs *xattrs,
                         struct cairn_error *err)
{
    struct target t;
    t.fd = -1;
    t.is_path = true;
    t.is_followed = false;
    int n = snprintf(t.path, sizeof(t.path), "/proc/self/fd/%d/%s", dir, name);
    if (n < 0 || (size_t)n >= sizeof(t.path))
        return cairn_error_set(err, CAIRN_LIMIT, 0, "a name of more than 4095 bytes");
    return read_all(&t, xattrs, err);
}
