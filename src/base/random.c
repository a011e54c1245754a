/* SPDX-License-Identifier: Apache-2.0 */
#include "base/random.h"

#include <errno.h>
#include <sys/random.h>

#include "base/error.h"

int cairn_random_bytes(void *out, size_t len, struct cairn_error *err)
{
    unsigned char *at = out;
    while (len > 0) {
        ssize_t n = getrandom(at, len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return cairn_error_set(err, CAIRN_IO, errno, "the kernel gave no random bytes");
        at += n;
        len -= (size_t)n;
    }
    return CAIRN_OK;
}
