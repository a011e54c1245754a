/* SPDX-License-Identifier: Apache-2.0
 *
 * Headers of objects. What is taken for a config belongs to the repository that it names.
 */
#include <stdlib.h>

#include "store/object.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    struct cairn_identity id = {.epoch = 1, .aead = CAIRN_AEAD_NONE, .hash = CAIRN_HASH_PLAIN};
    struct cairn_error err;
    bool read_only;
    const int status = cairn_header_identity(input, size, &id, &read_only, &err);
    if (status == CAIRN_OK &&
        cairn_header_check(input, size, CAIRN_OBJECT_CONFIG, &id, "config", &err) != CAIRN_OK)
        abort();
    for (int type = CAIRN_OBJECT_CONFIG; type <= CAIRN_OBJECT_LOG_ENTRY; type++)
        (void)cairn_header_check(input, size, type, &id, "an object", &err);
    return 0;
}
