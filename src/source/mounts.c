/* SPDX-License-Identifier: Apache-2.0 */
#include "source/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/io.h"

#define READ_BYTES 65536u
#define MOUNTINFO_BYTES_MAX ((size_t)64 << 20)

/* What reads as files there is made up at that moment, or is what is being backed up itself. tmpfs,
 * devtmpfs and hugetlbfs are not among them: people put files there. */
static const char *const types[] = {
    "autofs",    "binderfs", "binfmt_misc", "bpf",      "cgroup",     "cgroup2",
    "configfs",  "debugfs",  "devpts",      "efivarfs", "fuse.cairn", "fusectl",
    "mqueue",    "nsfs",     "proc",        "pstore",   "rpc_pipefs", "securityfs",
    "selinuxfs", "smackfs",  "sysfs",       "tracefs",
};

static bool is_listed(const char *type, size_t len)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        if (strlen(types[i]) == len && memcmp(types[i], type, len) == 0)
            return true;
    }
    return false;
}

/* A decimal number at *at; *at is moved behind it. false: none, or above 32 bits. */
static bool number(const char **at, const char *end, uint64_t *out)
{
    uint64_t value = 0;
    const char *begin = *at;
    while (*at < end && **at >= '0' && **at <= '9' && value <= UINT32_MAX)
        value = value * 10 + (uint64_t)(*(*at)++ - '0');
    *out = value;
    return *at > begin && value <= UINT32_MAX;
}

static const char *field_end(const char *at, const char *end)
{
    const char *space = memchr(at, ' ', (size_t)(end - at));
    return space ? space : end;
}

/* One line: id, parent id, major:minor, root, place, options, more fields up to "-", type. */
static bool parse_line(const char *line, const char *end, uint64_t *device)
{
    uint64_t major, minor;
    const char *at = line;
    for (int i = 0; i < 2; i++) {
        at = field_end(at, end);
        if (at == end)
            return false;
        at++;
    }
    if (!number(&at, end, &major) || at == end || *at++ != ':' || !number(&at, end, &minor))
        return false;
    const char *dash = memmem(at, (size_t)(end - at), " - ", 3);
    if (dash == NULL)
        return false;
    *device = major << 32 | minor;
    return is_listed(dash + 3, (size_t)(field_end(dash + 3, end) - (dash + 3)));
}

int cairn_mounts_parse(struct cairn_mounts *mounts, const char *text, size_t len,
                       struct cairn_error *err)
{
    const char *at = text, *end = text + len;
    while (at < end) {
        uint64_t device;
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline ? newline : end;
        if (parse_line(at, line_end, &device) && !cairn_mounts_has(mounts, device)) {
            if (mounts->count == mounts->cap) {
                size_t cap = mounts->cap * 2 + 16;
                uint64_t *grown = cairn_realloc(mounts->devices, cap, sizeof(*grown));
                if (grown == NULL)
                    return cairn_error_no_memory(err, "the list of mounts");
                mounts->devices = grown;
                mounts->cap = cap;
            }
            mounts->devices[mounts->count++] = device;
        }
        at = line_end + 1;
    }
    return CAIRN_OK;
}

int cairn_mounts_read(struct cairn_mounts *mounts, struct cairn_error *err)
{
    struct cairn_buf text = CAIRN_BUF_INIT;
    int status = CAIRN_OK;
    int fd = cairn_io_open(AT_FDCWD, "/proc/self/mountinfo", O_RDONLY, 0);
    if (fd < 0)
        return CAIRN_OK;
    while (status == CAIRN_OK && text.len < MOUNTINFO_BYTES_MAX) {
        if (!cairn_buf_reserve(&text, READ_BYTES)) {
            status = cairn_error_no_memory(err, "the list of mounts");
            break;
        }
        ssize_t n = cairn_io()->read(fd, text.data + text.len, READ_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        text.len += (size_t)n;
    }
    (void)cairn_io_close(fd);
    if (status == CAIRN_OK)
        status = cairn_mounts_parse(mounts, (const char *)text.data, text.len, err);
    cairn_buf_release(&text);
    return status;
}

bool cairn_mounts_has(const struct cairn_mounts *mounts, uint64_t device)
{
    for (size_t i = 0; i < mounts->count; i++) {
        if (mounts->devices[i] == device)
            return true;
    }
    return false;
}

void cairn_mounts_release(struct cairn_mounts *mounts)
{
    cairn_free(mounts->devices);
    *mounts = (struct cairn_mounts)CAIRN_MOUNTS_INIT;
}
