/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/hex.h"
#include "store/store.h"

void cairn_store_pack_name(char *out, const struct cairn_id *pack)
{
    char hex[65];
    cairn_hex_encode(hex, pack->bytes, sizeof(pack->bytes));
    (void)snprintf(out, CAIRN_BACKEND_NAME_MAX + 1, "packs/%.2s/%s", hex, hex);
}

void cairn_store_segment_name(char *out, const struct cairn_id *segment)
{
    char hex[65];
    cairn_hex_encode(hex, segment->bytes, sizeof(segment->bytes));
    (void)snprintf(out, CAIRN_BACKEND_NAME_MAX + 1, "index/%s", hex);
}

void cairn_store_log_name(char *out, uint64_t n)
{
    (void)snprintf(out, CAIRN_BACKEND_NAME_MAX + 1, "log/%016llx", (unsigned long long)n);
}
