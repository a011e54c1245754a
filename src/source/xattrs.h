/* SPDX-License-Identifier: Apache-2.0
 *
 * xattrs.h - extended attributes (ACLs and capabilities among them) of anything in the source.
 */
#ifndef CAIRN_SOURCE_XATTRS_H
#define CAIRN_SOURCE_XATTRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

#include "base/buffer.h"

struct cairn_xattr {
    const uint8_t *name; /* bytes without NUL: "user.color" */
    size_t name_len;
    const uint8_t *value;
    size_t value_len;
};

/* The attributes of one file. Reused from file to file without allocating again. */
struct cairn_xattrs {
    struct cairn_xattr *items; /* ascending by name bytes */
    size_t count;
    size_t cap;
    struct cairn_buf bytes; /* internal: names and values */
    struct cairn_buf list;  /* internal */
    bool is_lossy;          /* something could not be read: report it */
    int lost_errno;         /* why (E2BIG: the list has more than the kernel hands out) */
    size_t lost;            /* how many attributes are known to be missing; 0: unknown */
};

#define CAIRN_XATTRS_INIT                                                                          \
    {                                                                                              \
        NULL, 0, 0, CAIRN_BUF_INIT, CAIRN_BUF_INIT, false, 0, 0                                    \
    }

void cairn_xattrs_release(struct cairn_xattrs *xattrs);

/* Replaces xattrs with the attributes of what is open at fd: any kind of descriptor, O_PATH
 * included (for symlinks, devices and what may not be read). Nothing there, or a file system
 * without attributes: count 0, CAIRN_OK. An attribute that vanishes meanwhile is left out. One
 * whose value cannot be read, or a list that cannot be read whole: is_lossy, the rest is there,
 * CAIRN_OK. NO_MEMORY (xattrs is then empty). Cost: one system call for a file without attributes
 * (two for O_PATH). One thread per xattrs. */
int cairn_xattrs_read(int fd, struct cairn_xattrs *xattrs, struct cairn_error *err);

/* As cairn_xattrs_read for name in the directory open at dir, itself and never what it points to,
 * without opening it. Needs /proc; where there is none: is_lossy with ENOENT. LIMIT: the name has
 * more than 4095 bytes. One system call for a file without attributes. */
int cairn_xattrs_read_at(int dir, const char *name, struct cairn_xattrs *xattrs,
                         struct cairn_error *err);

#endif
