/* SPDX-License-Identifier: Apache-2.0
 *
 * Index runs: what goes in is found, what does not is not, and damaged bytes are refused.
 */
#include "test.h"

#include "store/run.h"

#define PACKS 7
#define CHUNKS 3000

static struct cairn_pack_contents packs[PACKS];
static struct cairn_buf bytes;
static struct cairn_run run;

static int setup(void **state)
{
    struct cairn_run_source sources[PACKS];
    uint64_t random = 7;
    (void)state;
    for (size_t p = 0; p < PACKS; p++) {
        packs[p].length = 1 << 20;
        for (uint32_t c = 0; c < CHUNKS; c++) {
            struct cairn_pack_chunk chunk = {.frame = c / 10, .offset = c % 10, .len = 1};
            for (int i = 0; i < 4; i++) {
                uint64_t r = test_random(&random);
                memcpy(chunk.id.bytes + 8 * i, &r, 8);
            }
            if (c % 10 == 0) {
                struct cairn_frame frame = {128 + c, 26, 10, 0};
                assert_int_equal(cairn_pack_contents_add_frame(&packs[p], &frame, NULL), CAIRN_OK);
            }
            assert_int_equal(cairn_pack_contents_add_chunk(&packs[p], &chunk, NULL), CAIRN_OK);
        }
        memset(sources[p].name.bytes, (int)p, 32);
        sources[p].type = CAIRN_OBJECT_DATA_PACK;
        sources[p].contents = &packs[p];
    }
    assert_int_equal(cairn_run_build(sources, PACKS, NULL, 0, &bytes, NULL), CAIRN_OK);
    assert_int_equal(cairn_run_init(&run, bytes.data, bytes.len, NULL), CAIRN_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (size_t p = 0; p < PACKS; p++)
        cairn_pack_contents_release(&packs[p]);
    cairn_buf_release(&bytes);
    return 0;
}

static void every_chunk_is_found(void **state)
{
    (void)state;
    assert_int_equal(cairn_run_verify(&run, NULL), CAIRN_OK);
    for (size_t p = 0; p < PACKS; p++) {
        for (size_t c = 0; c < CHUNKS; c++) {
            struct cairn_location location;
            assert_true(cairn_run_find(&run, &packs[p].chunks[c].id, &location));
            assert_int_equal(location.pack.bytes[5], p);
            assert_int_equal(location.frame_number, c / 10);
            assert_int_equal(location.offset, c % 10);
        }
    }
}

static void other_chunks_are_not(void **state)
{
    struct cairn_location location;
    uint64_t random = 99;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct cairn_id id;
        for (int k = 0; k < 4; k++) {
            uint64_t r = test_random(&random);
            memcpy(id.bytes + 8 * k, &r, 8);
        }
        assert_false(cairn_run_find(&run, &id, &location));
    }
    /* Neighbours of members, and the ends of the range. */
    for (size_t c = 0; c < CHUNKS; c++) {
        struct cairn_id id = packs[0].chunks[c].id;
        id.bytes[31] ^= 1;
        assert_false(cairn_run_find(&run, &id, &location));
    }
    struct cairn_id low = {{0}}, high;
    memset(&high, 255, sizeof(high));
    assert_false(cairn_run_find(&run, &low, &location));
    assert_false(cairn_run_find(&run, &high, &location));
}

/* Ids that are anything but uniform still sort and are found. */
static void skewed_ids_are_found(void **state)
{
    struct cairn_pack_contents pack = {.length = 1 << 20};
    struct cairn_buf skewed = CAIRN_BUF_INIT;
    struct cairn_run r;
    (void)state;
    for (uint32_t c = 0; c < 5000; c++) {
        struct cairn_frame frame = {128 + c, 17, 1, 0};
        struct cairn_pack_chunk chunk = {.frame = c, .len = 1};
        memset(chunk.id.bytes, c % 2 ? 0 : 255, 32);
        memcpy(chunk.id.bytes + 20, &c, 4);
        assert_int_equal(cairn_pack_contents_add_frame(&pack, &frame, NULL), CAIRN_OK);
        assert_int_equal(cairn_pack_contents_add_chunk(&pack, &chunk, NULL), CAIRN_OK);
    }
    const struct cairn_run_source source = {{{1}}, CAIRN_OBJECT_DATA_PACK, &pack};
    assert_int_equal(cairn_run_build(&source, 1, NULL, 0, &skewed, NULL), CAIRN_OK);
    assert_int_equal(cairn_run_init(&r, skewed.data, skewed.len, NULL), CAIRN_OK);
    for (size_t c = 0; c < pack.chunk_count; c++) {
        struct cairn_location location;
        assert_true(cairn_run_find(&r, &pack.chunks[c].id, &location));
        assert_int_equal(location.frame_number, c);
    }
    cairn_buf_release(&skewed);
    cairn_pack_contents_release(&pack);
}

static void every_length_but_the_right_one_is_refused(void **state)
{
    struct cairn_run r;
    (void)state;
    for (size_t len = 0; len < bytes.len; len += len < 4096 ? 1 : 997)
        assert_int_equal(cairn_run_init(&r, bytes.data, len, NULL), CAIRN_CORRUPT);
}

/* Whatever the bytes are, nothing outside them is read (the sanitizer watches). */
static void flipped_bits_do_no_harm(void **state)
{
    uint8_t *copy = malloc(bytes.len);
    (void)state;
    assert_non_null(copy);
    for (size_t bit = 0; bit < bytes.len * 8; bit += bit < 8192 ? 1 : 30011) {
        struct cairn_run r;
        memcpy(copy, bytes.data, bytes.len);
        copy[bit / 8] = (uint8_t)(copy[bit / 8] ^ 1u << bit % 8);
        if (cairn_run_init(&r, copy, bytes.len, NULL) != CAIRN_OK)
            continue;
        struct cairn_location location;
        (void)cairn_run_find(&r, &packs[3].chunks[100].id, &location);
        if (bit % 8 == 0)
            (void)cairn_run_verify(&r, NULL);
    }
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_chunk_is_found),
        cmocka_unit_test(other_chunks_are_not),
        cmocka_unit_test(skewed_ids_are_found),
        cmocka_unit_test(every_length_but_the_right_one_is_refused),
        cmocka_unit_test(flipped_bits_do_no_harm),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
