/* SPDX-License-Identifier: Apache-2.0
 *
 * A small repository in memory, damaged in every way a disk or a hostile store can: each bit
 * flipped; each object cut, lengthened, emptied, zeroed, removed, swapped with each other of its
 * kind; the whole repository or parts of it put back as they were before. Each time check must find
 * damage, or the repository must not open, and each file that can be read must have its right
 * bytes.
 *
 * What only a client that remembers the repository can find, and does (its state directory is used
 * there): that the newest log entries are absent, because what is left is the repository as it was
 * before. Nothing else is excepted. Without that memory such a state must open and show no wrong
 * byte.
 *
 * CAIRN_FULL=1: every bit (else every 251st, and every 13th, fewer with sanitizers, at both ends of
 * each object).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/memory.h"
#include "engine/repo.h"
#include "fixture.h"

#define SNAPSHOTS 2
#define EDGE_BYTES 160
#ifdef __SANITIZE_ADDRESS__ /* many times slower, and each place in the code is soon visited */
#define EDGE_STRIDE 127
#define STRIDE 2503
#else
#define EDGE_STRIDE 13
#define STRIDE 251
#endif

static struct fixture fixture;             /* its repository is not used */
static struct fixture contents[SNAPSHOTS]; /* as it was at each snapshot */
static struct cairn_id ids[SNAPSHOTS];
static struct cairn_backend *whole, *older; /* the repository; and after its first snapshot */
static const char *aead_name;
static uint8_t key[32];
static const uint8_t *key_given;
static uint64_t cases, refused, found, right_files, failed_files;
static unsigned problems;

static int give_password(void *ctx, char *out, size_t cap, size_t *len)
{
    (void)ctx;
    (void)cap;
    memcpy(out, "password", 8);
    *len = 8;
    return CAIRN_OK;
}

static struct cairn_backend *clone_of(struct cairn_backend *backend)
{
    struct cairn_backend *copy = NULL;
    if (cairn_memory_backend_clone(backend, &copy, NULL) != CAIRN_OK)
        fixture_die("out of memory");
    return copy;
}

/* A repository with two snapshots that differ; `older` is it before the second. */
static void make_repository(int aead)
{
    const struct cairn_credentials credentials = {
        .key_file_key = key, .password = aead == CAIRN_AEAD_AES_256_GCM ? give_password : NULL};
    struct cairn_store_options options = {
        .credentials = aead == CAIRN_AEAD_NONE ? NULL : &credentials, .location = "repository"};
    const struct cairn_store_init init = {.aead = aead,
                                          .chunker = CAIRN_CHUNKER_DYNAMIC,
                                          .chunk_avg = 64 << 10,
                                          .level = CAIRN_LEVEL_FILESYSTEM};
    struct cairn_repo repo = {.threads = 1, .memory_limit = 128 << 20};
    struct cairn_backup_result result;
    struct cairn_error err = {0};
    if (cairn_memory_backend_new(&options.backend, &err) != CAIRN_OK ||
        cairn_store_init(&options, &init, &repo.store, &err) != CAIRN_OK)
        fixture_die("init: %s", err.message);
    fixture_write(&fixture, "inline", 100, 11);
    fixture_write(&fixture, "empty file", 0, 0);
    fixture_write(&fixture, "d/text", 30000, 4);
    fixture_write(&fixture, "d/random", 70000, 5);
    for (unsigned i = 0; i < SNAPSHOTS; i++) {
        if (i > 0) {
            fixture_write(&fixture, "inline", 90, 13);
            fixture_write(&fixture, "d/more", 20000, 7);
            older = clone_of(cairn_store_backend(repo.store));
        }
        if (fixture_backup(&fixture, &repo, 0, &result, &err) != CAIRN_OK)
            fixture_die("backup: %s", err.message);
        contents[i] = fixture;
        ids[i] = result.snapshot;
    }
    whole = clone_of(cairn_store_backend(repo.store));
    cairn_store_close(repo.store);
}

/* Opens it; the backend is taken over. */
static int open_repository(struct cairn_backend *backend, const char *state_dir,
                           struct cairn_repo *repo, struct cairn_error *err)
{
    const struct cairn_credentials credentials = {.key_file_key = key_given};
    const struct cairn_store_options options = {.backend = backend,
                                                .credentials = &credentials,
                                                .location = "repository",
                                                .state_dir = state_dir};
    *repo = (struct cairn_repo){.threads = 1, .memory_limit = 128 << 20};
    return cairn_store_open(&options, &repo->store, err);
}

struct verdict {
    int status; /* of opening, or else of check */
    bool opened;
    struct cairn_check_result check;
    bool wrong; /* bytes that were never stored came out */
    size_t right, failed;
};

static struct verdict judge(struct cairn_backend *backend, const char *state_dir)
{
    const struct cairn_check_options options = {.size = sizeof(options), .read_data = true};
    struct verdict v = {0};
    struct cairn_repo repo;
    v.status = open_repository(backend, state_dir, &repo, NULL);
    if (v.status != CAIRN_OK)
        return v;
    v.opened = true;
    v.status = cairn_check(&repo, &options, &v.check, NULL);
    for (unsigned i = 0; i < SNAPSHOTS; i++) {
        size_t failed, right;
        v.wrong |= !fixture_judge_files(&contents[i], &repo, &ids[i], &failed, &right);
        v.right += right;
        v.failed += failed;
    }
    cairn_store_close(repo.store);
    return v;
}

/* A damaged repository must be found out. */
static void expect_found(struct cairn_backend *backend, const char *state_dir, const char *what,
                         const char *object, size_t number)
{
    struct verdict v = judge(backend, state_dir);
    bool is_found = !v.opened || v.status != CAIRN_OK || v.check.damaged > 0;
    cases++;
    refused += !v.opened;
    found += v.opened && is_found;
    right_files += v.right;
    failed_files += v.failed;
    if (is_found && !v.wrong)
        return;
    (void)fprintf(stderr, "%s: %s %s (%zu): %s\n", aead_name, object, what, number,
                  v.wrong ? "wrong bytes came out" : "check finds nothing");
    if (++problems > 50)
        fixture_die("too many; again: CAIRN_FULL=1 meson test -C build fault-flips");
}

static uint8_t *bytes_of(struct cairn_backend *backend, const char *name, size_t *len)
{
    uint8_t *bytes = cairn_memory_backend_data(backend, name, len);
    if (bytes == NULL)
        fixture_die("%s is gone", name);
    return bytes;
}

static void set(struct cairn_backend *backend, const char *name, const void *data, size_t len)
{
    if (cairn_memory_backend_set(backend, name, data, len, NULL) != CAIRN_OK)
        fixture_die("out of memory");
}

static void flip_all(bool is_full)
{
    size_t bit_number = 0;
    for (size_t i = 0; i < cairn_memory_backend_count(whole); i++) {
        const char *name = cairn_memory_backend_name(whole, i);
        size_t len;
        (void)bytes_of(whole, name, &len);
        for (size_t bit = 0; bit < len * 8; bit++, bit_number++) {
            bool is_edge = bit / 8 < EDGE_BYTES || bit / 8 + EDGE_BYTES >= len;
            if (!is_full && bit_number % (is_edge ? EDGE_STRIDE : STRIDE) != 0)
                continue;
            struct cairn_backend *copy = clone_of(whole);
            bytes_of(copy, name, &len)[bit / 8] ^= (uint8_t)(1 << bit % 8);
            expect_found(copy, NULL, "bit flipped", name, bit);
        }
    }
}

static void cut_all(const char *state_dir)
{
    for (size_t i = 0; i < cairn_memory_backend_count(whole); i++) {
        const char *name = cairn_memory_backend_name(whole, i);
        size_t len;
        const uint8_t *bytes = bytes_of(whole, name, &len);
        const size_t lengths[] = {0,       1,       127,      128,      129,        144,
                                  len / 2, len - 1, len - 16, len - 32, len - 4096, len - 128};
        for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
            if (lengths[k] >= len)
                continue;
            struct cairn_backend *copy = clone_of(whole);
            set(copy, name, bytes, lengths[k]);
            expect_found(copy, state_dir, "cut", name, lengths[k]);
        }
        for (size_t more = 1; more <= 4096; more *= 16) {
            struct cairn_backend *copy = clone_of(whole);
            uint8_t *longer = calloc(1, len + more);
            if (longer == NULL)
                fixture_die("out of memory");
            memcpy(longer, bytes, len);
            set(copy, name, longer, len + more);
            free(longer);
            expect_found(copy, state_dir, "lengthened", name, more);
        }
    }
}

static void lose_all(const char *state_dir)
{
    for (size_t i = 0; i < cairn_memory_backend_count(whole); i++) {
        const char *name = cairn_memory_backend_name(whole, i);
        struct cairn_backend *copy = clone_of(whole);
        size_t len;
        if (cairn_backend_remove(copy, name, NULL) != CAIRN_OK)
            fixture_die("cannot remove %s", name);
        expect_found(copy, state_dir, "removed", name, 0);
        copy = clone_of(whole);
        uint8_t *bytes = bytes_of(copy, name, &len);
        memset(bytes, 0, len);
        expect_found(copy, state_dir, "zeroed", name, len);
        /* What a disk leaves of a file: a page of zeros. */
        for (size_t at = 0; at < len; at += 4096) {
            copy = clone_of(whole);
            bytes = bytes_of(copy, name, &len);
            size_t page = len - at < 4096 ? len - at : 4096;
            bool is_zero = true;
            for (size_t k = 0; k < page; k++)
                is_zero = is_zero && bytes[at + k] == 0;
            memset(bytes + at, 0, page);
            if (is_zero)
                cairn_backend_close(copy);
            else
                expect_found(copy, state_dir, "page zeroed", name, at);
        }
    }
}

/* What stands before the first slash. */
static bool is_same_type(const char *a, const char *b)
{
    size_t len = strcspn(a, "/");
    return len == strcspn(b, "/") && memcmp(a, b, len) == 0;
}

static void swap_all(const char *state_dir)
{
    size_t count = cairn_memory_backend_count(whole);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count; k++) {
            const char *a = cairn_memory_backend_name(whole, i);
            const char *b = cairn_memory_backend_name(whole, k);
            size_t a_len, b_len;
            if (i == k || !is_same_type(a, b))
                continue;
            const uint8_t *a_bytes = bytes_of(whole, a, &a_len);
            const uint8_t *b_bytes = bytes_of(whole, b, &b_len);
            struct cairn_backend *copy = clone_of(whole);
            set(copy, a, b_bytes, b_len);
            expect_found(copy, state_dir, "replaced by another of its kind", a, k);
            if (i > k)
                continue;
            copy = clone_of(whole);
            set(copy, a, b_bytes, b_len);
            set(copy, b, a_bytes, a_len);
            expect_found(copy, state_dir, "swapped with another", a, k);
        }
    }
}

/* Objects that the older state did not have, or had with other bytes (there are none), are put
 * back one by one; then the whole. */
static void replay_all(const char *state_dir)
{
    struct verdict v = judge(clone_of(older), state_dir);
    cases++;
    if (v.opened || v.status != CAIRN_UNTRUSTED) {
        (void)fprintf(stderr, "%s: an older state is not refused\n", aead_name);
        problems++;
    }
    v = judge(clone_of(older), NULL);
    if (!v.opened || v.check.damaged > 0 || v.wrong || v.right != contents[0].file_count) {
        (void)fprintf(stderr, "%s: an older state is not what it was\n", aead_name);
        problems++;
    }
    struct cairn_backend *copy = clone_of(whole);
    for (size_t i = 0; i < cairn_memory_backend_count(whole); i++) {
        const char *name = cairn_memory_backend_name(whole, i);
        size_t len;
        if (strncmp(name, "log/", 4) == 0 && cairn_memory_backend_data(older, name, &len) == NULL)
            (void)cairn_backend_remove(copy, name, NULL);
    }
    v = judge(clone_of(copy), NULL);
    cases++;
    if (!v.opened || v.wrong || v.check.orphan_packs == 0) {
        (void)fprintf(stderr, "%s: an older log over newer packs is not read as such\n", aead_name);
        problems++;
    }
    expect_found(copy, state_dir, "log put back", "log", 0);
}

static void run(int aead, const char *name, bool is_full)
{
    struct cairn_repo repo;
    uint64_t bytes = 0, before = cases;
    char state_dir[320];
    aead_name = name;
    key_given = aead == CAIRN_AEAD_NONE ? NULL : key;
    fixture_begin(&fixture, "flips");
    make_repository(aead);
    for (size_t i = 0; i < cairn_memory_backend_count(whole); i++) {
        size_t len;
        (void)bytes_of(whole, cairn_memory_backend_name(whole, i), &len);
        bytes += len;
    }
    /* The state directory remembers the whole repository. */
    (void)snprintf(state_dir, sizeof(state_dir), "%s", fixture.state);
    struct verdict v = judge(clone_of(whole), state_dir);
    size_t files = contents[0].file_count + contents[1].file_count;
    if (!v.opened || v.status != CAIRN_OK || v.check.damaged > 0 || v.wrong || v.right != files ||
        open_repository(clone_of(whole), NULL, &repo, NULL) != CAIRN_OK)
        fixture_die("%s: the repository is not sound to begin with", name);
    cairn_store_close(repo.store);
    cut_all(state_dir);
    lose_all(state_dir);
    swap_all(state_dir);
    replay_all(state_dir);
    uint64_t structural = cases - before;
    flip_all(is_full);
    printf("%-18s %zu objects, %llu bytes: %llu bits flipped%s, %llu other damages\n", name,
           cairn_memory_backend_count(whole), (unsigned long long)bytes,
           (unsigned long long)(cases - before - structural), is_full ? " (all)" : "",
           (unsigned long long)structural);
    (void)fflush(stdout);
    cairn_backend_close(whole);
    cairn_backend_close(older);
    fixture_end(&fixture);
}

int main(void)
{
    bool is_full = fixture_setting("CAIRN_FULL", 0) == 1;
    memset(key, 0x5a, sizeof(key));
    run(CAIRN_AEAD_AES_256_GCM, "AES-256-GCM", is_full);
    run(CAIRN_AEAD_CHACHA20_POLY1305, "ChaCha20-Poly1305", is_full);
    run(CAIRN_AEAD_NONE, "not encrypted", is_full);
    printf("%llu damaged repositories: %llu did not open, check found the others: %llu; "
           "%llu files read right, %llu refused, none wrong\n",
           (unsigned long long)cases, (unsigned long long)refused, (unsigned long long)found,
           (unsigned long long)right_files, (unsigned long long)failed_files);
    if (problems > 0)
        (void)fprintf(stderr, "%u problems; again: CAIRN_FULL=%d meson test -C build fault-flips\n",
                      problems, is_full);
    return problems ? 1 : 0;
}
