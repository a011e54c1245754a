/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "source/file.h"

#define FIRST_TRY_BYTES 256u
#define TARGET_BYTES_MAX (1u << 20)

int cairn_link_read(int dir, const char *name, struct cairn_buf *out, struct cairn_error *err)
{
    size_t room = FIRST_TRY_BYTES;
    cairn_buf_clear(out);
    for (;;) {
        if (!cairn_buf_reserve(out, room))
            return cairn_error_no_memory(err, "a symlink's target");
        ssize_t n = readlinkat(dir, name, (char *)out->data, room);
        if (n < 0 && errno == EINVAL) {
            (void)cairn_error_set(err, CAIRN_NOT_FOUND, 0,
                                  "replaced by something else since it "
                                  "was seen");
            if (err)
                err->os_errno = ESTALE;
            return CAIRN_NOT_FOUND;
        }
        if (n < 0)
            return cairn_error_set(err, errno == ENOENT ? CAIRN_NOT_FOUND : CAIRN_IO, errno,
                                   "the symlink cannot be read");
        if ((size_t)n < room) {
            out->len = (size_t)n;
            return CAIRN_OK;
        }
        /* A full answer may have been cut, and the link may grow between two tries. */
        room *= 4;
        if (room > TARGET_BYTES_MAX)
            return cairn_error_set(err, CAIRN_LIMIT, 0, "the symlink's target is too long");
    }
}
