/* SPDX-License-Identifier: Apache-2.0
 *
 * repo.h - the handle behind the public interface.
 */
#ifndef CAIRN_ENGINE_REPO_H
#define CAIRN_ENGINE_REPO_H

#include <cairn/cairn.h>

#include "snapshot/manifest.h"
#include "store/store.h"

/* Which directory holds the repository, to be left out of backups. */
struct cairn_repo_place {
    uint64_t device; /* as cairn_stat_device */
    uint64_t ino;
    bool is_known;
};

struct cairn_repo {
    struct cairn_store *store;
    struct cairn_repo_place place;
    unsigned threads;
    uint64_t memory_limit;
};

/* Decodes the manifest of a snapshot, with tags as the log last set them. NOT_FOUND, CORRUPT. The
 * caller releases it. */
int cairn_repo_manifest(const struct cairn_repo *repo, const struct cairn_id *id,
                        struct cairn_manifest *out, struct cairn_error *err);

/* Manifest number i (below cairn_store_log()->snapshot_count), likewise. */
int cairn_repo_manifest_at(const struct cairn_repo *repo, size_t i, struct cairn_manifest *out,
                           struct cairn_error *err);

/* Copies a caller's options structure of `given` bytes into one of `known` bytes: what the caller's
 * version of the header did not have is zero. */
void cairn_options_copy(void *out, size_t known, const void *options, size_t given);

/* Where this user's caches and states are kept: *out is allocated (the caller frees it). kind:
 * "CACHE" or "STATE". NULL in *out: nowhere ($HOME is not set). The directory and its parents are
 * made. */
int cairn_user_dir(const char *given, const char *kind, char **out, struct cairn_error *err);

/* The absolute path of an existing file, or of one to be made in an existing directory: for
 * messages and as the name under which a repository is remembered. *out is allocated. */
int cairn_absolute_path(const char *path, char **out, struct cairn_error *err);

#endif
