/* SPDX-License-Identifier: Apache-2.0
 *
 * inode_flags.h - inode flags (chattr) and project ids.
 */
#ifndef CAIRN_SOURCE_INODE_FLAGS_H
#define CAIRN_SOURCE_INODE_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

#include <cairn/cairn.h>

struct cairn_inode_flags {
    uint32_t flags;   /* FS_IOC_GETFLAGS, only bits that can be set again; 0: none */
    uint32_t project; /* 0: none */
};

/* Fills out for a regular file or directory open at fd (reading; with O_PATH there is nothing to be
 * had). A file system without flags or projects: zeros, CAIRN_OK. IO: os_errno. Two system calls at
 * most. Any thread. */
int cairn_inode_flags_read(int fd, struct cairn_inode_flags *out, struct cairn_error *err);

#endif
