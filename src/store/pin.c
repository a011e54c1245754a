/* SPDX-License-Identifier: Apache-2.0
 *
 * What this client remembers of a repository, so that a store cannot swap it, turn its encryption
 * off or go back in time: id, cipher and the last log entry seen, in a small text file per
 * location.
 *
 * The file is no part of the repository; a lost or torn one is as if the repository was never seen.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hex.h"
#include "base/random.h"
#include "store/store_internal.h"

struct pin {
    uint8_t repository[16];
    int aead;
    uint64_t entry;
    struct cairn_id hash;
};

/* Opens the directory that holds the pins. -1 and errno. */
static int open_dir(const struct cairn_store *store, bool make)
{
    if (make)
        (void)mkdir(store->state_dir, 0700);
    int state = open(store->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (state < 0)
        return -1;
    if (make)
        (void)mkdirat(state, "seen", 0700);
    int dir = openat(state, "seen", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    int saved = errno;
    (void)close(state);
    errno = saved;
    return dir;
}

/* The file's name: a hash of the location, which may have any length and bytes. */
static void file_name(const struct cairn_store *store, char out[65])
{
    struct cairn_id id;
    cairn_hash(&id, store->location, strlen(store->location));
    cairn_hex_encode(out, id.bytes, sizeof(id.bytes));
}

/* false: nothing is remembered. */
static bool read_pin(const struct cairn_store *store, struct pin *out)
{
    char name[65], text[512], repository[33], hash[65];
    unsigned long long entry;
    int dir = store->state_dir ? open_dir(store, false) : -1;
    if (dir < 0)
        return false;
    file_name(store, name);
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    (void)close(dir);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    (void)close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    return sscanf(text,
                  "cairn seen 1\nrepository %32[0-9a-f]\naead %d\nentry %llu\nhash %64[0-9a-f]\n",
                  repository, &out->aead, &entry, hash) == 4 &&
           strlen(repository) == 32 && strlen(hash) == 64 &&
           cairn_hex_decode(out->repository, repository, 16) &&
           cairn_hex_decode(out->hash.bytes, hash, 32) && (out->entry = entry, true);
}

int cairn_pin_check_config(const struct cairn_store *store, struct cairn_error *err)
{
    struct pin pin;
    char name[65];
    if (!read_pin(store, &pin))
        return CAIRN_OK;
    file_name(store, name);
    if (memcmp(pin.repository, store->identity.repository, 16) == 0 &&
        pin.aead == store->identity.aead)
        return CAIRN_OK;
    bool is_open = store->identity.aead == CAIRN_AEAD_NONE && pin.aead != CAIRN_AEAD_NONE;
    return cairn_error_set(err, CAIRN_UNTRUSTED, 0,
                           "%s is not the repository that was here before%s; if you replaced it "
                           "yourself, remove %s/seen/%s",
                           store->location, is_open ? ", and it is not encrypted" : "",
                           store->state_dir, name);
}

int cairn_pin_check(struct cairn_store *store, struct cairn_error *err)
{
    struct pin pin;
    char name[65];
    if (!read_pin(store, &pin))
        return CAIRN_OK;
    file_name(store, name);
    struct cairn_buf object = CAIRN_BUF_INIT;
    struct cairn_id hash = store->log.last_hash;
    int status = CAIRN_OK;
    if (pin.entry >= store->log.next)
        status = CAIRN_NOT_FOUND;
    else if (pin.entry + 1 < store->log.next)
        status = cairn_store_read_log_entry(store, pin.entry, &object, err);
    if (status == CAIRN_OK && object.len > 0)
        cairn_hash(&hash, object.data, object.len);
    cairn_buf_release(&object);
    if (status == CAIRN_OK && cairn_id_is_equal(&hash, &pin.hash))
        return CAIRN_OK;
    if (status != CAIRN_OK && status != CAIRN_NOT_FOUND)
        return status;
    return cairn_error_set(
        err, CAIRN_UNTRUSTED, 0,
        "%s is older than when it was last used here (its log ended at entry %llu "
        "or differs there); if you put back an older copy yourself, remove "
        "%s/seen/%s",
        store->location, (unsigned long long)pin.entry, store->state_dir, name);
}

int cairn_pin_write(const struct cairn_store *store, struct cairn_error *err)
{
    char name[65], temporary[24], text[512], repository[33], hash[65];
    uint64_t random;
    if (store->state_dir == NULL)
        return CAIRN_OK;
    int status = cairn_random_bytes(&random, sizeof(random), err);
    if (status != CAIRN_OK)
        return status;
    int dir = open_dir(store, true);
    if (dir < 0)
        return cairn_error_system(err, errno, "cannot use the state directory %s",
                                  store->state_dir);
    file_name(store, name);
    cairn_hex_encode(repository, store->identity.repository, 16);
    cairn_hex_encode(hash, store->log.last_hash.bytes, 32);
    int len =
        snprintf(text, sizeof(text), "cairn seen 1\nrepository %s\naead %d\nentry %llu\nhash %s\n",
                 repository, store->identity.aead, (unsigned long long)store->log.next - 1, hash);
    (void)snprintf(temporary, sizeof(temporary), ".%016llx", (unsigned long long)random);
    int fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool is_good = fd >= 0 && write(fd, text, (size_t)len) == len;
    int failed = errno;
    if (fd >= 0 && close(fd) != 0)
        is_good = false;
    if (is_good)
        is_good = renameat(dir, temporary, dir, name) == 0;
    if (!is_good) {
        if (fd >= 0)
            (void)unlinkat(dir, temporary, 0);
        status = cairn_error_system(err, failed, "cannot write to the state directory %s",
                                    store->state_dir);
    }
    (void)close(dir);
    return status;
}
