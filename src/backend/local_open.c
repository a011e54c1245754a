/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#include "backend/local.h"
#include "backend/local_internal.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/io.h"

#define MAGIC_EXT 0xef53u
#define MAGIC_XFS 0x58465342u
#define MAGIC_BTRFS 0x9123683eu
#define MAGIC_F2FS 0xf2f52010u
#define PATH_SHOWN 512 /* bytes of the path in messages */

static uint64_t local_free_space(struct cairn_backend *backend)
{
    struct statvfs st;
    if (fstatvfs(cairn_local_from(backend)->root, &st) != 0)
        return UINT64_MAX;
    return (uint64_t)st.f_bavail * st.f_frsize;
}

static void local_close(struct cairn_backend *backend)
{
    struct cairn_local *local = cairn_local_from(backend);
    cairn_local_sync_stop(local);
    cairn_local_ring_free_all(local);
    cairn_local_session_end(local);
    cairn_local_cache_release(&local->cache);
    (void)cairn_io_close(local->root);
    pthread_cond_destroy(&local->changed);
    pthread_mutex_destroy(&local->lock);
    pthread_mutex_destroy(&local->publish_lock);
    cairn_free(local->path);
    cairn_free(local);
}

static const struct cairn_backend_ops local_ops = {
    .kind = "local",
    .close = local_close,
    .get = cairn_local_get,
    .get_range = cairn_local_get_range,
    .size = cairn_local_size,
    .put = cairn_local_put,
    .list = cairn_local_list,
    .remove = cairn_local_remove,
    .upload_open = cairn_local_upload_open,
    .upload_submit = cairn_local_upload_submit,
    .upload_reap = cairn_local_upload_reap,
    .upload_finish = cairn_local_upload_finish,
    .upload_abort = cairn_local_upload_abort,
    .publish = cairn_local_publish,
    .sync_object = cairn_local_sync_object,
    .adopt = cairn_local_adopt,
    .free_space = local_free_space,
};

/* syncfs tells of failed writes since Linux 5.8, and not on every file system. */
static bool is_syncfs_trusted(int root)
{
    struct statfs fs;
    struct utsname system;
    unsigned major = 0, minor = 0;
    if (fstatfs(root, &fs) != 0 || uname(&system) != 0)
        return false;
    if (sscanf(system.release, "%u.%u", &major, &minor) != 2 ||
        (major < 5 || (major == 5 && minor < 8)))
        return false;
    uint32_t magic = (uint32_t)fs.f_type;
    return magic == MAGIC_EXT || magic == MAGIC_XFS || magic == MAGIC_BTRFS || magic == MAGIC_F2FS;
}

static char *shown(const char *path)
{
    char text[PATH_SHOWN];
    cairn_escape(text, sizeof(text), path, strlen(path));
    return cairn_strdup(text);
}

/* Takes root over, also on failure. */
static int new_handle(const char *path, int root, bool read_only, struct cairn_local **out,
                      struct cairn_error *err)
{
    struct cairn_local *local = cairn_alloc_zero(1, sizeof(*local));
    char *text = shown(path);
    if (local == NULL || text == NULL) {
        cairn_free(local);
        cairn_free(text);
        (void)cairn_io_close(root);
        return cairn_error_no_memory(err, "a repository");
    }
    local->base.ops = &local_ops;
    local->path = text;
    local->root = root;
    local->read_only = read_only;
    local->session_dir = local->session_lock = -1;
    local->syncfs_trusted = is_syncfs_trusted(root);
    local->queue_end = &local->queue;
    atomic_init(&local->uring_refused, false);
    cairn_local_cache_init(&local->cache);
    pthread_mutex_init(&local->publish_lock, NULL);
    pthread_mutex_init(&local->lock, NULL);
    pthread_cond_init(&local->changed, NULL);
    *out = local;
    return CAIRN_OK;
}

int cairn_local_backend_open(const char *path, bool read_only, struct cairn_backend **out,
                             struct cairn_error *err)
{
    struct cairn_local *local;
    struct stat st;
    char text[PATH_SHOWN];
    cairn_escape(text, sizeof(text), path, strlen(path));
    int root = cairn_io_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
    if (root < 0 && (errno == ENOENT || errno == ENOTDIR))
        return cairn_error_set(err, CAIRN_NO_REPOSITORY, errno,
                               "there is no repository at %s (cairn init makes one)", text);
    if (root < 0)
        return cairn_error_system(err, errno, "cannot open repository %s", text);
    int status = new_handle(path, root, read_only, &local, err);
    if (status != CAIRN_OK)
        return status;
    if (cairn_io()->fstatat(root, "config", &st, AT_SYMLINK_NOFOLLOW) != 0) {
        status = errno == ENOENT
                     ? cairn_error_set(err, CAIRN_NO_REPOSITORY, 0,
                                       "%s is not a repository: it holds no config", local->path)
                     : cairn_local_read_error(local, "config", errno, err);
        local_close(&local->base);
        return status;
    }
    *out = &local->base;
    return CAIRN_OK;
}

/* A new file system's own directory does not count. */
static int visit_any(void *ctx, int dir, const char *entry, unsigned char type)
{
    (void)ctx;
    (void)dir;
    (void)type;
    return strcmp(entry, "lost+found") == 0 ? 0 : 1;
}

/* Makes a directory and opens it. -1 and errno. */
static int make_dir(int dir, const char *name)
{
    if (cairn_io()->mkdirat(dir, name, 0700) != 0)
        return -1;
    return cairn_io_open(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
}

/* Syncs, if it is open, and closes. 0, or -1 and errno. */
static int sync_and_close(int dir)
{
    if (dir < 0)
        return -1;
    int status = cairn_local_sync_dir(dir), saved = errno;
    (void)cairn_io_close(dir);
    errno = saved;
    return status;
}

/* 0, or -1 and errno. */
static int make_layout(int root)
{
    static const char *const names[] = {"keys", "log", "index", "tmp", "packs"};
    char name[3];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        int dir = make_dir(root, names[i]);
        for (unsigned j = 0; dir >= 0 && j < 256 && strcmp(names[i], "packs") == 0; j++) {
            (void)snprintf(name, sizeof(name), "%02x", j);
            if (cairn_io()->mkdirat(dir, name, 0700) == 0)
                continue;
            int saved = errno;
            (void)cairn_io_close(dir);
            errno = saved;
            return -1;
        }
        if (sync_and_close(dir) != 0)
            return -1;
    }
    return cairn_local_sync_dir(root);
}

/* After a failure, takes away the empty directories that were made. */
static void unmake_layout(int root)
{
    static const char *const names[] = {"keys", "log", "index", "tmp", "packs"};
    char name[16];
    for (unsigned j = 0; j < 256; j++) {
        (void)snprintf(name, sizeof(name), "packs/%02x", j);
        (void)cairn_io()->unlinkat(root, name, AT_REMOVEDIR);
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        (void)cairn_io()->unlinkat(root, names[i], AT_REMOVEDIR);
}

/* made: the root was made too, so that its own name has to be durable. */
static int make_durable_layout(struct cairn_local *local, bool made, struct cairn_error *err)
{
    if (make_layout(local->root) == 0 &&
        (!made || sync_and_close(cairn_io_open(local->root, "..", O_RDONLY | O_DIRECTORY, 0)) == 0))
        return CAIRN_OK;
    int saved = errno;
    /* Somebody else is at it if a directory was there: theirs are not taken away. */
    if (saved == EEXIST)
        return cairn_error_set(err, CAIRN_EXISTS, 0, "the directory %s is not empty", local->path);
    unmake_layout(local->root);
    return cairn_local_write_error(local, "", saved, err);
}

int cairn_local_backend_create(const char *path, struct cairn_backend **out,
                               struct cairn_error *err)
{
    struct cairn_local *local;
    char text[PATH_SHOWN];
    cairn_escape(text, sizeof(text), path, strlen(path));
    bool made = cairn_io()->mkdirat(AT_FDCWD, path, 0700) == 0;
    if (!made && errno != EEXIST)
        return cairn_error_set(err, errno == ENOSPC ? CAIRN_NO_SPACE : CAIRN_IO, errno,
                               "cannot make the directory %s", text);
    int root = cairn_io_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
    if (root < 0 && errno == ENOTDIR)
        return cairn_error_set(err, CAIRN_EXISTS, 0, "%s is not a directory", text);
    if (root < 0)
        return cairn_error_set(err, CAIRN_IO, errno, "cannot open the directory %s", text);
    int status = new_handle(path, root, false, &local, err);
    if (status != CAIRN_OK)
        return status;
    int any = cairn_local_walk(root, visit_any, NULL);
    if (any > 0)
        status = cairn_error_set(err, CAIRN_EXISTS, 0, "the directory %s is not empty", text);
    else if (any < 0)
        status = cairn_local_read_error(local, "", errno, err);
    if (status == CAIRN_OK)
        status = make_durable_layout(local, made, err);
    if (status != CAIRN_OK) {
        local_close(&local->base);
        return status;
    }
    *out = &local->base;
    return CAIRN_OK;
}

void cairn_local_backend_trust_syncfs(struct cairn_backend *backend, bool trust)
{
    cairn_local_from(backend)->syncfs_trusted = trust;
}
