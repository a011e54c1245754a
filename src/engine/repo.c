/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/repo.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "backend/local.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/threads.h"
#include "engine/key_file.h"
#include "source/stat.h"

#define MEMORY_LIMIT_DEFAULT ((uint64_t)128 << 20)
#define MEMORY_LIMIT_MIN ((uint64_t)96 << 20)

/* What opening and making a repository have in common. */
struct opening {
    struct cairn_repo_options options;
    char *location, *cache_dir, *state_dir;
    uint8_t key[CAIRN_KEY_BYTES];
    struct cairn_credentials credentials;
};

static void opening_release(struct opening *o)
{
    free(o->location);
    free(o->cache_dir);
    free(o->state_dir);
    cairn_wipe(o->key, sizeof(o->key));
}

static int opening_init(struct opening *o, const struct cairn_repo_options *given, bool is_new,
                        struct cairn_error *err)
{
    memset(o, 0, sizeof(*o));
    cairn_options_copy(&o->options, sizeof(o->options), given, given->size);
    const struct cairn_repo_options *options = &o->options;
    if (options->location == NULL || *options->location == '\0')
        return cairn_error_set(err, CAIRN_MISUSE, 0,
                               "no repository was named: give -r REPO or set CAIRN_REPO");
    if (options->memory_limit && options->memory_limit < MEMORY_LIMIT_MIN)
        return cairn_error_set(err, CAIRN_LIMIT, 0, "the memory limit must be at least 96M");
    int status = cairn_absolute_path(options->location, &o->location, err);
    if (status == CAIRN_NOT_FOUND)
        return cairn_error_set(err, is_new ? CAIRN_NOT_FOUND : CAIRN_NO_REPOSITORY, 0,
                               is_new ? "the directory that should hold %s does not exist"
                                      : "there is no repository at %s; `cairn init` makes one",
                               options->location);
    if (status == CAIRN_OK)
        status = cairn_user_dir(options->cache_dir, "CACHE", &o->cache_dir, err);
    if (status == CAIRN_OK)
        status = cairn_user_dir(options->state_dir, "STATE", &o->state_dir, err);
    if (options->key_file)
        o->credentials.key_file_key = o->key;
    o->credentials.password = options->password;
    o->credentials.password_ctx = options->password_ctx;
    return status;
}

/* Wraps an opened store into a handle. */
static int finish(const struct opening *o, struct cairn_store *store, struct cairn_repo **out,
                  struct cairn_error *err)
{
    struct cairn_repo *repo = cairn_alloc_zero(1, sizeof(*repo));
    if (repo == NULL) {
        cairn_store_close(store);
        return cairn_error_no_memory(err, "a repository");
    }
    struct cairn_stat st;
    if (cairn_stat_at_following(AT_FDCWD, o->location, &st) == 0)
        repo->place = (struct cairn_repo_place){cairn_stat_device(&st), st.ino, true};
    repo->store = store;
    repo->threads = o->options.threads ? o->options.threads : cairn_cpu_count();
    repo->memory_limit = o->options.memory_limit ? o->options.memory_limit : MEMORY_LIMIT_DEFAULT;
    *out = repo;
    return CAIRN_OK;
}

int cairn_repo_open(const struct cairn_repo_options *options, struct cairn_repo **out,
                    struct cairn_error *err)
{
    struct opening o;
    struct cairn_store *store = NULL;
    struct cairn_store_options so = {0};
    int status = opening_init(&o, options, false, err);
    if (status == CAIRN_OK)
        status = cairn_local_backend_open(o.location, false, &so.backend, err);
    /* Only now: that there is no repository is the better answer. */
    if (status == CAIRN_OK && o.options.key_file)
        status = cairn_key_file_read(o.options.key_file, o.key, err);
    if (status != CAIRN_OK)
        cairn_backend_close(so.backend);
    so.location = o.location;
    so.cache_dir = o.cache_dir;
    so.state_dir = o.state_dir;
    so.credentials = &o.credentials;
    if (status == CAIRN_OK)
        status = cairn_store_open(&so, &store, err);
    if (status == CAIRN_OK)
        status = finish(&o, store, out, err);
    opening_release(&o);
    return status;
}

int cairn_repo_init(const struct cairn_repo_options *options,
                    const struct cairn_init_options *given, struct cairn_repo **out,
                    struct cairn_error *err)
{
    struct opening o;
    struct cairn_store *store = NULL;
    struct cairn_store_options so = {0};
    struct cairn_init_options init;
    cairn_options_copy(&init, sizeof(init), given, given ? given->size : 0);
    struct cairn_store_init si = {
        .aead = init.aead ? init.aead : CAIRN_AEAD_AES_256_GCM,
        .chunker = init.chunker ? init.chunker : CAIRN_CHUNKER_DYNAMIC,
        .level = init.level,
    };
    uint64_t size = init.chunk_size;
    if (size == 0)
        size = si.chunker == CAIRN_CHUNKER_FIXED ? 4u << 20 : 1u << 20;
    si.chunk_avg = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
    if (si.aead == CAIRN_AEAD_NONE && options->key_file)
        return cairn_error_set(err, CAIRN_MISUSE, 0,
                               "an unencrypted repository has no use for a key file");
    int status = opening_init(&o, options, true, err);
    if (status == CAIRN_OK)
        status = cairn_local_backend_create(o.location, &so.backend, err);
    /* Only now: a refusal (something is there already) leaves no stray key file behind. */
    if (status == CAIRN_OK && o.options.key_file)
        status = cairn_key_file_make(o.options.key_file, o.key, err);
    if (status != CAIRN_OK)
        cairn_backend_close(so.backend);
    so.location = o.location;
    so.cache_dir = o.cache_dir;
    so.state_dir = o.state_dir;
    so.credentials = &o.credentials;
    if (status == CAIRN_OK)
        status = cairn_store_init(&so, &si, &store, err);
    if (status == CAIRN_OK)
        status = finish(&o, store, out, err);
    opening_release(&o);
    return status;
}

void cairn_repo_close(struct cairn_repo *repo)
{
    if (repo == NULL)
        return;
    cairn_store_close(repo->store);
    cairn_free(repo);
}

void cairn_cancel(struct cairn_repo *repo)
{
    cairn_store_cancel(repo->store);
}

void cairn_repo_get_info(const struct cairn_repo *repo, struct cairn_repo_info *out)
{
    const struct cairn_identity *id = cairn_store_identity(repo->store);
    const struct cairn_log_state *log = cairn_store_log(repo->store);
    memset(out, 0, sizeof(*out));
    memcpy(out->repository.bytes, id->repository, sizeof(id->repository));
    out->aead = id->aead;
    out->chunker = log->genesis.chunker;
    out->chunk_size = log->genesis.chunk_avg;
    out->level = log->level;
    out->log_entries = log->next;
    out->snapshots = log->snapshot_count;
    out->key_seconds = cairn_store_key_seconds(repo->store);
}

const char *cairn_version(void)
{
#ifdef CAIRN_DEBUG_BUILD
    return CAIRN_VERSION " (debug build)";
#else
    return CAIRN_VERSION;
#endif
}
