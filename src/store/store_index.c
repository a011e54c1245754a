/* SPDX-License-Identifier: Apache-2.0
 *
 * Index runs of live segments: from the local cache where it has them, else from the backend.
 *
 * A cached run is a file of the plain bytes with their BLAKE3 behind them, checked when it is
 * written. On opening only its shape is checked: a flipped bit in it cannot make a chunk "exist"
 * that does not (all 32 bytes of an id are compared); at worst a chunk is not found there or its
 * place is wrong, which reading notices. `check` does not use the cache.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/random.h"
#include "store/store_internal.h"

#define SEGMENT_BYTES_MAX ((size_t)4 << 30)

/* Opens (making it if need be) the cache's directory for this repository. -1: there is no cache. */
static int open_cache_dir(const struct cairn_store *store)
{
    if (store->cache_dir == NULL)
        return -1;
    char hex[33];
    cairn_hex_encode(hex, store->identity.repository, 16);
    (void)mkdir(store->cache_dir, 0700);
    int top = open(store->cache_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top < 0)
        return -1;
    (void)mkdirat(top, hex, 0700);
    int dir = openat(top, hex, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    (void)close(top);
    return dir;
}

/* Maps a cached run. false: it is not there or has the wrong shape. */
static bool map_cached(int dir, const char *hex, struct cairn_run *run)
{
    int fd = openat(dir, hex, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    struct stat st;
    bool is_good = false;
    if (fstat(fd, &st) == 0 && st.st_size > 32) {
        size_t len = (size_t)st.st_size;
        void *map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED) {
            is_good = cairn_run_init(run, map, len - 32, NULL) == CAIRN_OK;
            if (is_good) {
                run->mapping = map;
                run->mapping_len = len;
                (void)madvise(map, len, MADV_RANDOM);
            } else {
                (void)munmap(map, len);
            }
        }
    }
    (void)close(fd);
    return is_good;
}

static bool write_all(int fd, const uint8_t *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        len -= (size_t)n;
    }
    return true;
}

/* Writes a run into the cache; failing to is no failure. */
static bool write_cached(int dir, const char *hex, const struct cairn_buf *bytes)
{
    uint64_t random;
    char temporary[32];
    if (cairn_random_bytes(&random, sizeof(random), NULL) != CAIRN_OK)
        return false;
    (void)snprintf(temporary, sizeof(temporary), ".%016llx", (unsigned long long)random);
    int fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    struct cairn_id sum;
    cairn_hash(&sum, bytes->data, bytes->len);
    bool is_good = write_all(fd, bytes->data, bytes->len) &&
                   write_all(fd, sum.bytes, sizeof(sum.bytes)) && fdatasync(fd) == 0;
    is_good = close(fd) == 0 && is_good;
    if (is_good)
        is_good = renameat(dir, temporary, dir, hex) == 0;
    if (!is_good)
        (void)unlinkat(dir, temporary, 0);
    return is_good;
}

int cairn_store_run_from_buffer(struct cairn_store *store, const struct cairn_id *name,
                                struct cairn_buf *bytes, struct cairn_run **out,
                                struct cairn_error *err)
{
    struct cairn_run *run = cairn_alloc_zero(1, sizeof(*run));
    if (run == NULL)
        return cairn_error_no_memory(err, "the index");
    char hex[65];
    cairn_hex_encode(hex, name->bytes, 32);
    int dir = open_cache_dir(store);
    bool is_mapped = dir >= 0 && write_cached(dir, hex, bytes) && map_cached(dir, hex, run);
    if (dir >= 0)
        (void)close(dir);
    if (is_mapped) {
        cairn_buf_release(bytes);
    } else {
        int status = cairn_run_init(run, bytes->data, bytes->len, err);
        if (status != CAIRN_OK) {
            cairn_free(run);
            return status;
        }
        run->owned = *bytes;
        *bytes = (struct cairn_buf)CAIRN_BUF_INIT;
    }
    *out = run;
    return CAIRN_OK;
}

/* Fetches a segment from the backend and verifies it; bytes receives its plain body. */
static int fetch_segment(struct cairn_store *store, const struct cairn_id *segment,
                         struct cairn_buf *bytes, struct cairn_error *err)
{
    char name[CAIRN_BACKEND_NAME_MAX + 1];
    struct cairn_buf object = CAIRN_BUF_INIT;
    struct cairn_id hash;
    struct cairn_run view;
    cairn_store_segment_name(name, segment);
    int status = cairn_backend_get(store->backend, name, SEGMENT_BYTES_MAX, &object, err);
    if (status == CAIRN_NOT_FOUND)
        status = cairn_error_set(err, CAIRN_CORRUPT, 0, "the index segment %s is missing", name);
    if (status == CAIRN_OK) {
        cairn_hash(&hash, object.data, object.len);
        if (!cairn_id_is_equal(&hash, segment))
            status =
                cairn_error_set(err, CAIRN_CORRUPT, 0, "the index segment %s is damaged", name);
    }
    if (status == CAIRN_OK)
        status = cairn_segment_open(store, &object, bytes, err);
    cairn_buf_release(&object);
    if (status == CAIRN_OK)
        status = cairn_run_init(&view, bytes->data, bytes->len, err);
    if (status == CAIRN_OK)
        status = cairn_run_verify(&view, err);
    return status;
}

int cairn_store_verify_segment(struct cairn_store *store, const struct cairn_id *segment,
                               struct cairn_error *err)
{
    struct cairn_buf bytes = CAIRN_BUF_INIT;
    int status = fetch_segment(store, segment, &bytes, err);
    cairn_buf_release(&bytes);
    return status;
}

static int fetch_run(struct cairn_store *store, const struct cairn_log_segment *segment,
                     struct cairn_run **out, struct cairn_error *err)
{
    struct cairn_buf bytes = CAIRN_BUF_INIT;
    int status = fetch_segment(store, &segment->name, &bytes, err);
    if (status == CAIRN_OK)
        status = cairn_store_run_from_buffer(store, &segment->name, &bytes, out, err);
    cairn_buf_release(&bytes);
    return status;
}

static int load_segment(struct cairn_store *store, const struct cairn_log_segment *segment,
                        int cache, struct cairn_error *err)
{
    char hex[65];
    struct cairn_run mapped = {0}, *run = NULL;
    cairn_hex_encode(hex, segment->name.bytes, 32);
    int status = CAIRN_OK;
    if (cache >= 0 && map_cached(cache, hex, &mapped)) {
        run = cairn_alloc(1, sizeof(*run));
        if (run)
            *run = mapped;
        else
            cairn_run_release(&mapped);
        status = run ? CAIRN_OK : cairn_error_no_memory(err, "the index");
    } else {
        status = fetch_run(store, segment, &run, err);
    }
    /* A segment that was never synced may be gone: what it listed counts as absent, the rest of the
     * repository is as it was. check reports it. */
    if (status == CAIRN_CORRUPT && segment->is_weak)
        return CAIRN_OK;
    if (status != CAIRN_OK)
        return status;
    bool added;
    status = cairn_index_add(&store->index, run, err);
    if (status != CAIRN_OK) {
        cairn_run_release(run);
        cairn_free(run);
        return status;
    }
    return cairn_id_set_add(&store->loaded, &segment->name, &added, err);
}

int cairn_store_load_index(struct cairn_store *store, struct cairn_error *err)
{
    int cache = open_cache_dir(store);
    int status = CAIRN_OK;
    for (size_t i = 0; i < store->log.segment_count && status == CAIRN_OK; i++) {
        const struct cairn_log_segment *segment = &store->log.segments[i];
        if (!cairn_id_set_has(&store->loaded, &segment->name))
            status = load_segment(store, segment, cache, err);
    }
    if (cache >= 0)
        (void)close(cache);
    return status;
}

int cairn_store_refresh(struct cairn_store *store, struct cairn_error *err)
{
    int status = cairn_store_load_log(store, err);
    return status == CAIRN_OK ? cairn_store_load_index(store, err) : status;
}
