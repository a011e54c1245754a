/* SPDX-License-Identifier: Apache-2.0
 *
 * mounts.h - which file systems hold no files of anybody: the kernel's interfaces, and mounts of
 * cairn itself.
 */
#ifndef CAIRN_SOURCE_MOUNTS_H
#define CAIRN_SOURCE_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

/* Device numbers as cairn_stat_device gives them. Read only once made: any thread. */
struct cairn_mounts {
    uint64_t *devices;
    size_t count, cap;
};

#define CAIRN_MOUNTS_INIT                                                                          \
    {                                                                                              \
        NULL, 0, 0                                                                                 \
    }

/* Adds what the process sees mounted now (/proc/self/mountinfo; where there is none, nothing).
 * NO_MEMORY. */
int cairn_mounts_read(struct cairn_mounts *mounts, struct cairn_error *err);

/* Adds what a text in the form of mountinfo tells; malformed lines are passed over. NO_MEMORY. */
int cairn_mounts_parse(struct cairn_mounts *mounts, const char *text, size_t len,
                       struct cairn_error *err);

bool cairn_mounts_has(const struct cairn_mounts *mounts, uint64_t device);
void cairn_mounts_release(struct cairn_mounts *mounts);

#endif
