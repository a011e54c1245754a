/* SPDX-License-Identifier: Apache-2.0 */
#include "helpers.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

char *helper_dir(const char *base)
{
    char path[512];
    const char *tmp = getenv("TMPDIR");
    if (base[0] == '\0')
        base = tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp";
    (void)snprintf(path, sizeof(path), "%s/cairn-test-XXXXXX", base);
    assert_non_null(mkdtemp(path));
    return strdup(path);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void helper_remove(char *path)
{
    (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(path);
}

const char *helper_path(const char *dir, const char *name)
{
    static char buffers[4][1024];
    static unsigned next;
    char *out = buffers[next++ % 4];
    (void)snprintf(out, sizeof(buffers[0]), "%s/%s", dir, name);
    return out;
}

size_t helper_entries(const char *path)
{
    size_t count = 0;
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return count;
}

int helper_open_files(void)
{
    return (int)helper_entries("/proc/self/fd");
}

uint8_t *helper_bytes(unsigned seed, size_t len)
{
    uint8_t *bytes = cairn_alloc_aligned(BLOCK, len + BLOCK);
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    assert_non_null(bytes);
    for (size_t i = 0; i < len; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes[i] = (uint8_t)state;
    }
    return bytes;
}

int helper_upload(struct cairn_backend *backend, int level, const char *name, unsigned seed,
                  size_t len, size_t piece, struct cairn_error *err)
{
    struct cairn_upload *upload;
    uint8_t *bytes = helper_bytes(seed, len);
    size_t at = 0;
    unsigned under_way = 0;
    void *token;
    int status = cairn_backend_upload_open(backend, level, &upload, err);
    if (status != CAIRN_OK)
        goto out;
    while (status == CAIRN_OK && at < len) {
        size_t part = len - at < piece ? len - at : piece;
        if (under_way == CAIRN_UPLOAD_DEPTH) {
            status = cairn_backend_upload_reap(upload, &token, err);
            under_way--;
            continue;
        }
        status = cairn_backend_upload_submit(upload, bytes + at, part, bytes + at, err);
        at += part;
        under_way++;
    }
    while (status == CAIRN_OK && under_way-- > 0) {
        token = NULL;
        status = cairn_backend_upload_reap(upload, &token, err);
        if (status == CAIRN_OK)
            assert_non_null(token);
    }
    if (status == CAIRN_OK) {
        status = cairn_backend_upload_reap(upload, &token, err);
        assert_int_equal(status, CAIRN_OK);
        assert_null(token);
        status = cairn_backend_upload_finish(upload, name, err);
    } else {
        cairn_backend_upload_abort(upload);
    }
out:
    cairn_free(bytes);
    return status;
}

int helper_holds(struct cairn_backend *backend, const char *name, unsigned seed, size_t len)
{
    struct cairn_error error = {0};
    struct cairn_buf got = CAIRN_BUF_INIT;
    int status = cairn_backend_get(backend, name, SIZE_MAX, &got, &error);
    if (status == CAIRN_NOT_FOUND) {
        cairn_buf_release(&got);
        return 0;
    }
    assert_ok(status);
    assert_int_equal(got.len, len);
    uint8_t *want = helper_bytes(seed, len);
    assert_true(len == 0 || memcmp(got.data, want, len) == 0);
    cairn_free(want);
    cairn_buf_release(&got);
    return 1;
}

static int count_one(void *ctx, const char *name, uint64_t size)
{
    (void)name;
    (void)size;
    ++*(size_t *)ctx;
    return 0;
}

size_t helper_count(struct cairn_backend *backend, const char *prefix)
{
    struct cairn_error error = {0};
    size_t count = 0;
    assert_ok(cairn_backend_list(backend, prefix, count_one, &count, &error));
    return count;
}

void helper_assert_ok(int status, const struct cairn_error *err, const char *call, const char *file,
                      int line)
{
    if (status != CAIRN_OK) {
        print_error("%s:%d: %s: %d %s\n", file, line, call, status, err->message);
        fail();
    }
}

void helper_commit(struct cairn_backend *backend)
{
    const char *name = "log/00000000000000c0";
    struct cairn_error error = {0};
    assert_ok(cairn_backend_put(backend, name, "x", 1, CAIRN_LEVEL_NONE, &error));
    assert_ok(cairn_backend_remove(backend, name, &error));
}
