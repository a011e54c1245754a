/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/io.h"
#include "base/random.h"
#include "crypto/slot.h"

int cairn_key_file_read(const char *path, uint8_t key[CAIRN_KEY_BYTES], struct cairn_error *err)
{
    char text[CAIRN_KEY_FILE_BYTES + 1];
    struct stat st;
    int fd = cairn_io_open(AT_FDCWD, path, O_RDONLY | O_NOCTTY, 0);
    if (fd < 0)
        return cairn_error_system(err, errno, "cannot read the key file %s", path);
    int status = CAIRN_OK;
    if (cairn_io()->fstat(fd, &st) != 0)
        status = cairn_error_system(err, errno, "cannot read the key file %s", path);
    else if (st.st_mode & 077)
        status = cairn_error_set(err, CAIRN_MISUSE, 0,
                                 "others may read the key file %s: run chmod 600 on it", path);
    if (status == CAIRN_OK) {
        ssize_t n = cairn_io_pread_full(fd, text, sizeof(text), 0);
        if (n < 0)
            status = cairn_error_system(err, errno, "cannot read the key file %s", path);
        else
            status = cairn_key_file_parse(text, (size_t)n, key, err);
        if (status == CAIRN_CORRUPT)
            cairn_error_set(err, CAIRN_CORRUPT, 0, "%s is not a cairn key file", path);
    }
    cairn_wipe(text, sizeof(text));
    (void)cairn_io_close(fd);
    return status;
}

int cairn_key_file_make(const char *path, uint8_t key[CAIRN_KEY_BYTES], struct cairn_error *err)
{
    char text[CAIRN_KEY_FILE_BYTES];
    int fd = cairn_io_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == EEXIST)
        return cairn_key_file_read(path, key, err);
    if (fd < 0)
        return cairn_error_system(err, errno, "cannot make the key file %s", path);
    int status = cairn_random_bytes(key, CAIRN_KEY_BYTES, err);
    if (status == CAIRN_OK) {
        cairn_key_file_format(text, key);
        if (cairn_io_pwrite_full(fd, text, sizeof(text), 0) != 0 || cairn_io_fsync(fd) != 0)
            status = cairn_error_system(err, errno, "cannot write the key file %s", path);
    }
    if (cairn_io_close(fd) != 0 && status == CAIRN_OK)
        status = cairn_error_system(err, errno, "cannot write the key file %s", path);
    if (status != CAIRN_OK)
        (void)cairn_io()->unlinkat(AT_FDCWD, path, 0);
    cairn_wipe(text, sizeof(text));
    return status;
}
