/* SPDX-License-Identifier: Apache-2.0
 *
 * Key slots and key files. Slots of passwords are parsed only: to open one takes a derivation.
 */
#include <stdlib.h>
#include <string.h>

#include "crypto/slot.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static void read_key_file(const uint8_t *input, size_t size)
{
    char text[CAIRN_KEY_FILE_BYTES];
    uint8_t key[32], again[32];
    if (cairn_key_file_parse((const char *)input, size, key, NULL) != CAIRN_OK)
        return;
    cairn_key_file_format(text, key);
    if (cairn_key_file_parse(text, sizeof(text), again, NULL) != CAIRN_OK ||
        memcmp(key, again, sizeof(key)) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    /* What make_seeds.c seals its slot with. */
    static const uint8_t secret[32] = {1, 2, 3};
    struct cairn_slot slot;
    struct cairn_error err;
    uint8_t root[32];
    read_key_file(input, size);
    if (cairn_slot_parse(input, size, &slot, &err) != CAIRN_OK)
        return 0;
    if (memchr(slot.label, 0, sizeof(slot.label)) == NULL)
        abort();
    if (slot.kind == CAIRN_SLOT_KEY_FILE)
        (void)cairn_slot_open(input, size, CAIRN_AEAD_AES_256_GCM, secret, 32, root, &err);
    return 0;
}
