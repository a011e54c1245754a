/* SPDX-License-Identifier: Apache-2.0
 *
 * Plain bodies of index segments. Every chunk of one that passes the check is found; one that does
 * not may be asked all the same.
 */
#include <stdlib.h>
#include <string.h>

#include "store/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    struct cairn_run run;
    struct cairn_error err;
    struct cairn_location location;
    struct cairn_id id;
    if (cairn_run_init(&run, input, size, &err) != CAIRN_OK)
        return 0;
    const bool is_sound = cairn_run_verify(&run, &err) == CAIRN_OK;
    for (size_t i = 0; i < run.pack_count; i++) {
        struct cairn_run_pack pack;
        cairn_run_pack_at(&run, i, &pack);
    }
    for (uint64_t i = 0; i < run.chunk_count; i++) {
        const bool is_there = cairn_run_chunk_at(&run, i, &id, &location);
        memcpy(id.bytes, run.chunks + i * CAIRN_RUN_CHUNK_BYTES, sizeof(id.bytes));
        const bool is_found = cairn_run_find(&run, &id, &location);
        if (is_sound && !(is_there && is_found))
            abort();
        id.bytes[i % 32] ^= 1;
        (void)cairn_run_find(&run, &id, &location);
    }
    memset(&id, 0xff, sizeof(id));
    (void)cairn_run_find(&run, &id, &location);
    memset(&id, 0, sizeof(id));
    (void)cairn_run_find(&run, &id, &location);
    return 0;
}
