/* SPDX-License-Identifier: Apache-2.0
 *
 * cairn.h - the stable C interface of cairn, a deduplicating, encrypted, verifiable store.
 *
 * Conventions of every call:
 * - It returns CAIRN_OK (0) or a negative enum cairn_status. On failure the caller's struct
 *   cairn_error (which may be NULL) says in one line what failed and what to do; every other
 *   out-parameter is untouched.
 * - Options structures begin with their own size, so that they can grow: set it with sizeof, zero
 *   the rest, fill in what differs from the default.
 * - Paths and names are bytes without NUL; they need not be UTF-8.
 * - A handle is used by one thread at a time unless its contract says otherwise. Different handles
 *   are independent.
 * - Nothing here prints, exits or installs signal handlers.
 */
#ifndef CAIRN_CAIRN_H
#define CAIRN_CAIRN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CAIRN_API __attribute__((visibility("default")))
#else
#define CAIRN_API
#endif

/* Results of every call. The numbers are part of the interface. */
enum cairn_status {
    CAIRN_OK = 0,
    CAIRN_NOT_FOUND = -1,   /* the named thing does not exist */
    CAIRN_CORRUPT = -2,     /* bytes were read, and they are not what was written */
    CAIRN_AUTH = -3,        /* no key slot opens with the given password or key file */
    CAIRN_IO = -4,          /* the system refused or failed an operation; os_errno says which way */
    CAIRN_NO_SPACE = -5,    /* the repository's (never the source's) file system is full */
    CAIRN_BUSY = -6,        /* somebody else holds what is needed; try again */
    CAIRN_LIMIT = -7,       /* a stated limit would be exceeded */
    CAIRN_UNSUPPORTED = -8, /* a newer format, or a feature this build or system lacks */
    CAIRN_NO_MEMORY = -9,
    CAIRN_MISUSE = -10,    /* the arguments make no sense (an ambiguous snapshot prefix too) */
    CAIRN_CANCELLED = -11, /* cairn_cancel was called */
    CAIRN_EXISTS = -12,    /* something is there already and was left as it was */
    CAIRN_UNTRUSTED = -13, /* the repository is not the one remembered: older, replaced, forged */
    CAIRN_NO_REPOSITORY = -14 /* nothing at the given place is a repository */
};

/* What a person needs to know of a failure. Owned by the caller, plain data, copied freely. */
struct cairn_error {
    int status;         /* enum cairn_status */
    int os_errno;       /* errno of the failing call, or 0 */
    char message[1016]; /* one line, UTF-8 with control bytes escaped, no trailing newline */
};

/* The name of a status ("NOT_FOUND"); never NULL. Any thread. */
CAIRN_API const char *cairn_status_name(int status);

/* The library's version, "0.1.0", with " (debug build)" behind it in a build not meant for use. */
CAIRN_API const char *cairn_version(void);

/* Sync levels: the promise that holds when a command says "done" (docs/durability.md). */
enum cairn_level {
    CAIRN_LEVEL_DEFAULT = 0, /* what the repository's configuration says */
    CAIRN_LEVEL_NONE = 1,
    CAIRN_LEVEL_METADATA = 2,
    CAIRN_LEVEL_FILESYSTEM = 3,
    CAIRN_LEVEL_FILE = 4
};

enum cairn_aead {
    CAIRN_AEAD_DEFAULT = 0, /* AES-256-GCM */
    CAIRN_AEAD_AES_256_GCM = 1,
    CAIRN_AEAD_CHACHA20_POLY1305 = 2,
    CAIRN_AEAD_NONE = 255
};

enum cairn_chunker {
    CAIRN_CHUNKER_DEFAULT = 0, /* dynamic */
    CAIRN_CHUNKER_FIXED = 1,
    CAIRN_CHUNKER_DYNAMIC = 2
};

/* A 32-byte name: of a snapshot, a chunk, a pack. Printed as 64 hexadecimal digits. */
struct cairn_id {
    uint8_t bytes[32];
};

/* An opened repository. One thread at a time, except cairn_cancel. */
struct cairn_repo;

/* Asks for a password. Writes at most cap bytes to out and their number to *len.
 * Called only when a password slot has to be opened. Returns CAIRN_OK or a status. */
typedef int (*cairn_password_fn)(void *ctx, char *out, size_t cap, size_t *len);

struct cairn_repo_options {
    size_t size;                /* sizeof(struct cairn_repo_options) */
    const char *location;       /* path of the repository's directory */
    const char *cache_dir;      /* NULL: $XDG_CACHE_HOME/cairn or ~/.cache/cairn */
    const char *state_dir;      /* NULL: $XDG_STATE_HOME/cairn or ~/.local/state/cairn */
    const char *key_file;       /* NULL: none */
    cairn_password_fn password; /* NULL: none can be given */
    void *password_ctx;
    unsigned threads;      /* 0: one per core */
    uint64_t memory_limit; /* bytes; 0: 128 MiB */
};

struct cairn_init_options {
    size_t size;
    int aead;            /* enum cairn_aead */
    int chunker;         /* enum cairn_chunker */
    uint64_t chunk_size; /* average (dynamic) or exact (fixed) bytes, a power of two from 64 KiB to
                            4 MiB; 0: 1 MiB (dynamic), 4 MiB (fixed) */
    int level;           /* default enum cairn_level of the repository; 0: filesystem */
};

/* Creates a repository in an absent or empty directory and opens it. With repo->key_file a key
 * file slot is made (the file is created with mode 0600 if it does not exist), with
 * repo->password a password slot; at least one of them unless aead is CAIRN_AEAD_NONE.
 * CAIRN_EXISTS: a repository or other files are there. Durable when it returns. */
CAIRN_API int cairn_repo_init(const struct cairn_repo_options *repo,
                              const struct cairn_init_options *init, struct cairn_repo **out,
                              struct cairn_error *err);

/* Opens a repository. CAIRN_NO_REPOSITORY, CAIRN_AUTH, CAIRN_UNTRUSTED, CAIRN_UNSUPPORTED,
 * CAIRN_CORRUPT. The caller closes the handle. */
CAIRN_API int cairn_repo_open(const struct cairn_repo_options *repo, struct cairn_repo **out,
                              struct cairn_error *err);

/* Closes the handle and frees all that belongs to it; NULL is allowed. */
CAIRN_API void cairn_repo_close(struct cairn_repo *repo);

/* Makes whatever runs on this handle return CAIRN_CANCELLED soon, leaving the repository as it was.
 * Any thread, and async-signal-safe. */
CAIRN_API void cairn_cancel(struct cairn_repo *repo);

struct cairn_repo_info {
    struct cairn_id repository; /* the first 16 bytes count; the rest is zero */
    int aead;
    int chunker;
    uint64_t chunk_size;
    int level;
    uint64_t log_entries;
    uint64_t snapshots;
    double key_seconds; /* time spent deriving the key */
};

/* Facts about the opened repository. */
CAIRN_API void cairn_repo_get_info(const struct cairn_repo *repo, struct cairn_repo_info *out);

/* ---- events ------------------------------------------------------------------------------- */

enum cairn_event_type {
    CAIRN_EVENT_PROGRESS = 1, /* counters; at most ten a second */
    CAIRN_EVENT_ITEM = 2,     /* path: this item was handled (only when options ask for it) */
    CAIRN_EVENT_PROBLEM = 3,  /* path, message: this item was not, or not wholly, handled */
    CAIRN_EVENT_STAGE = 4,    /* message, seconds_busy, seconds_waiting: timing of one stage */
    CAIRN_EVENT_NOTE = 5      /* message: something worth knowing (adopted packs, weaker level) */
};

struct cairn_event {
    int type;            /* enum cairn_event_type */
    const char *path;    /* bytes, NUL-terminated, as they are in the file system; or NULL */
    const char *message; /* UTF-8, one line; or NULL */
    int os_errno;        /* PROBLEM: errno, or 0 */
    uint64_t files_done, files_total;
    uint64_t bytes_done, bytes_total; /* totals are 0 while unknown */
    uint64_t bytes_added;             /* new bytes, before compression */
    double seconds_busy, seconds_waiting;
};

/* Called from the operation's threads, never by two at once. What the event points to is borrowed
 * for the call. */
typedef void (*cairn_event_fn)(void *ctx, const struct cairn_event *event);

/* ---- backup ------------------------------------------------------------------------------- */

struct cairn_backup_options {
    size_t size;
    const char *const *paths; /* what to back up; relative paths start at the working directory */
    size_t path_count;
    const char *const *tags;
    size_t tag_count;
    const char *host;   /* NULL: this host's name */
    const char *parent; /* NULL: the latest snapshot of the same host and paths */
    bool force;         /* read everything again, whatever the parent says */
    bool with_atime;
    bool dry_run;    /* report what would be stored; write nothing */
    int level;       /* enum cairn_level */
    int compression; /* 0: the default (zstd 3, skipped where it does not pay);
                        -1: off; 1..19: that zstd level */
    cairn_event_fn event;
    void *event_ctx;
    /* What is left out (docs/man/cairn-backup.1.scd has the rules). Patterns of files come before
     * those of excludes; the last that matches decides. A directory with one of the files
     * exclude_if_present, or with exclude_caches a valid CACHEDIR.TAG, is stored with that file
     * alone. Directories that hold the repository, mounts of cairn and of the kernel's own file
     * systems (proc, sysfs and the like) are stored empty. CAIRN_MISUSE: a malformed pattern. */
    const char *const *excludes;
    size_t exclude_count;
    const char *const
        *exclude_files; /* files with a pattern on each line, as .gitignore has them */
    size_t exclude_file_count;
    const char *const *exclude_if_present; /* names without a slash */
    size_t exclude_if_present_count;
    bool exclude_caches;
    bool one_file_system; /* what is mounted below a given path is stored as an empty directory */
    bool
        items; /* send CAIRN_EVENT_ITEM for each entry; message: "new", "changed" or "unmodified" */
};

struct cairn_backup_result {
    struct cairn_id snapshot;
    uint64_t files_new, files_changed, files_unmodified;
    uint64_t dirs_new, dirs_changed, dirs_unmodified;
    uint64_t others; /* symlinks, devices, FIFOs, sockets */
    uint64_t files_processed, bytes_processed;
    uint64_t bytes_added;  /* new content before compression */
    uint64_t bytes_stored; /* what the repository grew by */
    uint64_t problems;     /* items reported by CAIRN_EVENT_PROBLEM: exit status 3 */
    double seconds;
    int level;         /* the level that holds */
    uint64_t excluded; /* entries left out, and directories stored without their contents */
};

/* Stores the paths as a new snapshot. CAIRN_OK with result->problems > 0 means that the snapshot
 * exists, but some items are missing from it or changed while they were read. Durable to the
 * level when it returns CAIRN_OK; on any other status no snapshot was made and every older one is
 * untouched. */
CAIRN_API int cairn_backup(struct cairn_repo *repo, const struct cairn_backup_options *options,
                           struct cairn_backup_result *result, struct cairn_error *err);

/* ---- snapshots ---------------------------------------------------------------------------- */

struct cairn_snapshot_info {
    struct cairn_id id;
    struct cairn_id parent;  /* all zero: none */
    int64_t time_ns;         /* since 1970, UTC */
    const char *host, *user; /* borrowed for the call */
    const char *program;     /* version that wrote it */
    const char *const *paths;
    size_t path_count;
    const char *const *tags;
    size_t tag_count;
    uint64_t files, dirs, others, bytes, bytes_added, problems;
};

typedef int (*cairn_snapshot_fn)(void *ctx, const struct cairn_snapshot_info *info);

struct cairn_snapshot_filter {
    size_t size;
    const char *host; /* NULL: any */
    const char *path; /* NULL: any; else snapshots that have exactly this path among theirs */
    const char *tag;  /* NULL: any */
    uint64_t latest;  /* 0: all; else only the newest N that match */
};

/* Calls fn for each matching snapshot, oldest first, until fn returns nonzero, which is returned.
 */
CAIRN_API int cairn_snapshot_list(struct cairn_repo *repo,
                                  const struct cairn_snapshot_filter *filter, cairn_snapshot_fn fn,
                                  void *ctx, struct cairn_error *err);

/* Finds one snapshot by "latest" (within filter, which may be NULL), a whole id, or a unique prefix
 * of one. CAIRN_NOT_FOUND; CAIRN_MISUSE: the prefix fits several. */
CAIRN_API int cairn_snapshot_resolve(struct cairn_repo *repo, const char *spec,
                                     const struct cairn_snapshot_filter *filter,
                                     struct cairn_id *out, struct cairn_error *err);

/* ---- looking inside ----------------------------------------------------------------------- */

struct cairn_entry_info {
    const char *path; /* from the snapshot's root: "/etc/passwd"; bytes */
    size_t path_len;
    uint32_t mode; /* type and permissions as in st_mode */
    uint32_t uid, gid;
    uint64_t size;
    int64_t mtime_sec;
    uint32_t mtime_nsec;
    const char *link; /* symlink target, or NULL; bytes, NUL-terminated */
    uint32_t rdev_major, rdev_minor;
    uint64_t hardlink_group; /* 0: none */
};

typedef int (*cairn_entry_fn)(void *ctx, const struct cairn_entry_info *info);

/* Calls fn for what path ("/" or "" for the root) names in the snapshot: its entries if it is a
 * directory (recursive: everything below too, parents first, in name order), else itself.
 * CAIRN_NOT_FOUND: no such path. A nonzero return of fn ends the walk and is returned. */
CAIRN_API int cairn_snapshot_walk(struct cairn_repo *repo, const struct cairn_id *snapshot,
                                  const char *path, bool recursive, cairn_entry_fn fn, void *ctx,
                                  struct cairn_error *err);

/* Receives a file's bytes in order; nonzero ends the read and is returned. */
typedef int (*cairn_data_fn)(void *ctx, const void *data, size_t len);

/* Reads one regular file. Every byte given to fn was verified. CAIRN_MISUSE: not a regular file. */
CAIRN_API int cairn_snapshot_read(struct cairn_repo *repo, const struct cairn_id *snapshot,
                                  const char *path, cairn_data_fn fn, void *ctx,
                                  struct cairn_error *err);

/* ---- restore ------------------------------------------------------------------------------ */

struct cairn_restore_options {
    size_t size;
    const char *path;   /* NULL or "": everything, with the full paths below target; else the
                           contents of this directory, or this one file, go into target */
    const char *target; /* a directory; made if absent; must be empty */
    int level;          /* NONE: no sync at the end; otherwise the target's file system is synced */
    bool verify;        /* read everything back from the target and compare */
    bool items;         /* send CAIRN_EVENT_ITEM for each entry */
    cairn_event_fn event;
    void *event_ctx;
};

struct cairn_restore_result {
    uint64_t files, dirs, others, bytes;
    uint64_t problems; /* reported by CAIRN_EVENT_PROBLEM */
    double seconds;
};

/* Restores a snapshot or a path of it into an empty directory. Nothing outside target is touched,
 * whatever the snapshot contains. CAIRN_OK with problems > 0: everything else was restored. */
CAIRN_API int cairn_restore(struct cairn_repo *repo, const struct cairn_id *snapshot,
                            const struct cairn_restore_options *options,
                            struct cairn_restore_result *result, struct cairn_error *err);

/* ---- check -------------------------------------------------------------------------------- */

struct cairn_check_options {
    size_t size;
    bool read_data; /* read, decrypt and verify every stored byte */
    cairn_event_fn event;
    void *event_ctx;
};

struct cairn_check_result {
    uint64_t log_entries, segments, packs, chunks, snapshots, trees, bytes_read;
    uint64_t orphan_packs; /* not committed: left by an interrupted backup; harmless */
    uint64_t damaged;      /* problems found, each reported by CAIRN_EVENT_PROBLEM */
    double seconds;
};

/* Verifies the repository: the log's chain, the index, that every snapshot's trees and chunks are
 * there, and with read_data every byte. CAIRN_OK with damaged > 0: damage was found and named. */
CAIRN_API int cairn_check(struct cairn_repo *repo, const struct cairn_check_options *options,
                          struct cairn_check_result *result, struct cairn_error *err);

#ifdef __cplusplus
}
#endif

#endif
