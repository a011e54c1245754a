/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine/repo.h"

void cairn_options_copy(void *out, size_t known, const void *options, size_t given)
{
    memset(out, 0, known);
    if (options)
        memcpy(out, options, given < known ? given : known);
}
