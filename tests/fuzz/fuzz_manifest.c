/* SPDX-License-Identifier: Apache-2.0
 *
 * Manifests. What is taken, encoded and taken again is encoded to the same bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "snapshot/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    struct cairn_buf first = CAIRN_BUF_INIT, second = CAIRN_BUF_INIT;
    struct cairn_manifest manifest, again;
    struct cairn_entry root;
    struct cairn_error err;
    if (cairn_manifest_decode(input, size, &manifest, &err) != CAIRN_OK)
        return 0;
    (void)cairn_manifest_root(&manifest, &root, &err);
    cairn_manifest_encode(&manifest, &first);
    if (cairn_manifest_decode(first.data, first.len, &again, &err) != CAIRN_OK)
        abort();
    cairn_manifest_encode(&again, &second);
    if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0)
        abort();
    cairn_manifest_release(&manifest);
    cairn_manifest_release(&again);
    cairn_buf_release(&first);
    cairn_buf_release(&second);
    return 0;
}
