/* SPDX-License-Identifier: Apache-2.0 */
#include "crypto/keys.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"

#define CONTEXT(purpose) "cairn 2026 format 1 " purpose

void cairn_keys_derive(struct cairn_keys *keys, const uint8_t root[CAIRN_KEY_BYTES],
                       const uint8_t repository[16], uint32_t epoch)
{
    uint8_t material[CAIRN_KEY_BYTES + 16 + 4];
    memcpy(material, root, CAIRN_KEY_BYTES);
    memcpy(material + CAIRN_KEY_BYTES, repository, 16);
    cairn_store_u32(material + CAIRN_KEY_BYTES + 16, epoch);
    const struct {
        uint8_t *out;
        const char *context;
    } all[] = {
        {keys->data, CONTEXT("data")},
        {keys->metadata, CONTEXT("metadata")},
        {keys->index, CONTEXT("index")},
        {keys->log, CONTEXT("log")},
        {keys->data_id, CONTEXT("data id")},
        {keys->metadata_id, CONTEXT("metadata id")},
        {keys->snapshot_id, CONTEXT("snapshot id")},
        {keys->directory_split, CONTEXT("directory split")},
        {keys->chunker, CONTEXT("chunker")},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        cairn_hash_derive(all[i].out, all[i].context, material, sizeof(material));
    cairn_wipe(material, sizeof(material));
}
