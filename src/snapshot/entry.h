/* SPDX-License-Identifier: Apache-2.0
 *
 * entry.h - one entry of a directory, as stored (docs/format.md, section 9).
 */
#ifndef CAIRN_SNAPSHOT_ENTRY_H
#define CAIRN_SNAPSHOT_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cairn/cairn.h>

#include "base/buffer.h"
#include "base/reader.h"

enum cairn_entry_type {
    CAIRN_ENTRY_FILE = 1,
    CAIRN_ENTRY_DIRECTORY = 2,
    CAIRN_ENTRY_SYMLINK = 3,
    CAIRN_ENTRY_BLOCK = 4,
    CAIRN_ENTRY_CHARACTER = 5,
    CAIRN_ENTRY_FIFO = 6,
    CAIRN_ENTRY_SOCKET = 7
};

#define CAIRN_ENTRY_NAME_MAX 4095u
#define CAIRN_INLINE_BYTES_MAX 4096u
/* What writers put into entries themselves. */
#define CAIRN_INLINE_BYTES 128u
#define CAIRN_XATTRS_INLINE_BYTES 1024u
#define CAIRN_CONTENT_LEVEL_MAX 4

struct cairn_time {
    int64_t sec;
    uint32_t nsec;
};

/* An entry. Slices are borrowed from wherever the entry came from. */
struct cairn_entry {
    int type; /* enum cairn_entry_type */
    struct cairn_slice name;
    uint32_t mode; /* permission bits, 07777 */
    uint32_t uid, gid;
    struct cairn_time mtime;
    uint64_t size;    /* regular files */
    bool has_content; /* field 3 */
    unsigned content_level;
    struct cairn_slice content; /* items of field 3 */
    bool has_inline;            /* field 4 */
    struct cairn_slice inline_data;
    struct cairn_slice link;
    uint32_t rdev_major, rdev_minor;
    bool has_directory;
    struct cairn_id directory;
    struct cairn_slice xattrs; /* field 8; empty: none */
    bool has_xattrs_ref;
    struct cairn_id xattrs_ref; /* field 9 */
    bool has_flags;
    uint64_t flags;
    bool has_project;
    uint64_t project;
    uint64_t hardlink_group; /* 0: none */
    bool has_btime, has_atime;
    struct cairn_time btime, atime;
    uint64_t unknown_field; /* tag of a field below 64 that this version does not know, or 0 */
};

/* st_mode of an entry: type and permissions. And the type of an st_mode; 0: none of ours. */
uint32_t cairn_entry_st_mode(const struct cairn_entry *entry);
int cairn_entry_type_of(uint32_t st_mode);

/* Appends the entry (its length, type, name, fields) to out. */
void cairn_entry_encode(const struct cairn_entry *entry, struct cairn_buf *out);

/* Appends the fields only, without field 7 if with_directory is false. */
void cairn_entry_encode_fields(const struct cairn_entry *entry, bool with_directory,
                               struct cairn_buf *out);

/* Reads the next entry. false: none is left, or (reader->failed) malformed bytes. Every rule for
 * the entry alone is checked: name, ascending tags, ranges, fields that fit the type. */
bool cairn_entry_decode(struct cairn_reader *reader, struct cairn_entry *out);

/* Reads fields to the end of the reader into an entry whose type is set. false: malformed. */
bool cairn_entry_decode_fields(struct cairn_reader *reader, struct cairn_entry *entry);

/* Encoded pairs of extended attributes: appends one, reads the next (false: end or malformed). */
void cairn_xattr_encode(struct cairn_buf *out, const void *name, size_t name_len, const void *value,
                        size_t value_len);
bool cairn_xattr_decode(struct cairn_reader *reader, struct cairn_slice *name,
                        struct cairn_slice *value);

#endif
