/* SPDX-License-Identifier: Apache-2.0
 *
 * BLAKE3 against the published test vectors (the first 32 bytes of each), whole and in pieces.
 */
#include "../store/test.h"

#include "base/buffer.h"
#include "base/hex.h"
#include "crypto/hash.h"
#include "crypto/keys.h"

static const struct {
    size_t len;
    const char *plain, *keyed, *derived;
} vectors[] = {
    {0, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
     "92b2b75604ed3c761f9d6f62392c8a9227ad0ea3f09573e783f1498a4ed60d26",
     "2cc39783c223154fea8dfb7c1b1660f2ac2dcbd1c1de8277b0b0dd39b7e50d7d"},
    {1, "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213",
     "6d7878dfff2f485635d39013278ae14f1454b8c0a3a2d34bc1ab38228a80c95b",
     "b3e2e340a117a499c6cf2398a19ee0d29cca2bb7404c73063382693bf66cb06c"},
    {1023, "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11",
     "c951ecdf03288d0fcc96ee3413563d8a6d3589547f2c2fb36d9786470f1b9d6e",
     "74a16c1c3d44368a86e1ca6df64be6a2f64cce8f09220787450722d85725dea5"},
    {1024, "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7",
     "75c46f6f3d9eb4f55ecaaee480db732e6c2105546f1e675003687c31719c7ba4",
     "7356cd7720d5b66b6d0697eb3177d9f8d73a4a5c5e968896eb6a689684302706"},
    {1025, "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444",
     "357dc55de0c7e382c900fd6e320acc04146be01db6a8ce7210b7189bd664ea69",
     "effaa245f065fbf82ac186839a249707c3bddf6d3fdda22d1b95a3c970379bcb"},
    {2048, "e776b6028c7cd22a4d0ba182a8bf62205d2ef576467e838ed6f2529b85fba24a",
     "879cf1fa2ea0e79126cb1063617a05b6ad9d0b696d0d757cf053439f60a99dd1",
     "7b2945cb4fef70885cc5d78a87bf6f6207dd901ff239201351ffac04e1088a23"},
    {2049, "5f4d72f40d7a5f82b15ca2b2e44b1de3c2ef86c426c95c1af0b6879522563030",
     "9f29700902f7c86e514ddc4df1e3049f258b2472b6dd5267f61bf13983b78dd5",
     "2ea477c5515cc3dd606512ee72bb3e0e758cfae7232826f35fb98ca1bcbdf273"},
    {3072, "b98cb0ff3623be03326b373de6b9095218513e64f1ee2edd2525c7ad1e5cffd2",
     "044a0e7b172a312dc02a4c9a818c036ffa2776368d7f528268d2e6b5df191770",
     "050df97f8c2ead654d9bb3ab8c9178edcd902a32f8495949feadcc1e0480c46b"},
    {3073, "7124b49501012f81cc7f11ca069ec9226cecb8a2c850cfe644e327d22d3e1cd3",
     "68dede9bef00ba89e43f31a6825f4cf433389fedae75c04ee9f0cf16a427c95a",
     "72613c9ec9ff7e40f8f5c173784c532ad852e827dba2bf85b2ab4b76f7079081"},
    {4096, "015094013f57a5277b59d8475c0501042c0b642e531b0a1c8f58d2163229e969",
     "befc660aea2f1718884cd8deb9902811d332f4fc4a38cf7c7300d597a081bfc0",
     "1e0d7f3db8c414c97c6307cbda6cd27ac3b030949da8e23be1a1a924ad2f25b9"},
    {4097, "9b4052b38f1c5fc8b1f9ff7ac7b27cd242487b3d890d15c96a1c25b8aa0fb995",
     "00df940cd36bb9fa7cbbc3556744e0dbc8191401afe70520ba292ee3ca80abbc",
     "aca51029626b55fda7117b42a7c211f8c6e9ba4fe5b7a8ca922f34299500ead8"},
    {6144, "3e2e5b74e048f3add6d21faab3f83aa44d3b2278afb83b80b3c35164ebeca205",
     "3d6b6d21281d0ade5b2b016ae4034c5dec10ca7e475f90f76eac7138e9bc8f1d",
     "2a95beae63ddce523762355cf4b9c1d8f131465780a391286a5d01abb5683a15"},
    {7169, "a003fc7a51754a9b3c7fae0367ab3d782dccf28855a03d435f8cfe74605e7817",
     "ed9b1a922c046fdb3d423ae34e143b05ca1bf28b710432857bf738bcedbfa511",
     "554b0a5efea9ef183f2f9b931b7497995d9eb26f5c5c6dad2b97d62fc5ac31d9"},
};
#define VECTORS (sizeof(vectors) / sizeof(vectors[0]))

static const uint8_t key[] = "whats the Elvish word for friend";
static uint8_t input[8192];

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(input); i++)
        input[i] = (uint8_t)(i % 251);
    return 0;
}

static void expect(const uint8_t *bytes, const char *hex)
{
    char text[65];
    cairn_hex_encode(text, bytes, 32);
    assert_string_equal(text, hex);
}

static void published_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < VECTORS; i++) {
        struct cairn_id id;
        uint8_t derived[32];
        cairn_hash(&id, input, vectors[i].len);
        expect(id.bytes, vectors[i].plain);
        cairn_hash_keyed(&id, key, input, vectors[i].len);
        expect(id.bytes, vectors[i].keyed);
        cairn_hash_derive(derived, "BLAKE3 2019-12-27 16:29:52 test vectors context", input,
                          vectors[i].len);
        expect(derived, vectors[i].derived);
    }
}

static void pieces_give_the_same(void **state)
{
    static const size_t steps[] = {1, 63, 64, 65, 1000, 1024, 5000};
    (void)state;
    for (size_t i = 0; i < VECTORS * 7; i++) {
        const size_t v = i / 7, step = steps[i % 7];
        struct cairn_hasher plain, keyed;
        struct cairn_id id;
        cairn_hasher_init(&plain, NULL);
        cairn_hasher_init(&keyed, key);
        for (size_t at = 0; at < vectors[v].len; at += step) {
            const size_t len = vectors[v].len - at < step ? vectors[v].len - at : step;
            cairn_hasher_update(&plain, input + at, len);
            cairn_hasher_update(&keyed, input + at, len);
        }
        cairn_hasher_final(&plain, &id);
        cairn_hasher_final(&plain, &id); /* asking changes nothing */
        expect(id.bytes, vectors[v].plain);
        cairn_hasher_final(&keyed, &id);
        expect(id.bytes, vectors[v].keyed);
    }
}

static void ids_are_compared_whole(void **state)
{
    struct cairn_id a = {{0}}, b = {{0}};
    (void)state;
    assert_true(cairn_id_is_equal(&a, &b));
    assert_true(cairn_id_is_zero(&a));
    for (size_t i = 0; i < 32; i++) {
        b.bytes[i] = 0x80;
        assert_false(cairn_id_is_equal(&a, &b));
        assert_false(cairn_id_is_zero(&b));
        b.bytes[i] = 0;
    }
}

/* docs/format.md, section 3: the keys are derived from root key, repository id and epoch. */
static void keys_follow_the_format(void **state)
{
    static const char *const purposes[] = {"data",        "metadata",        "index",
                                           "log",         "data id",         "metadata id",
                                           "snapshot id", "directory split", "chunker"};
    struct cairn_buf material = CAIRN_BUF_INIT;
    uint8_t root[32], repository[16];
    struct cairn_keys keys, other;
    (void)state;
    test_fill(root, sizeof(root), 1);
    test_fill(repository, sizeof(repository), 2);
    cairn_keys_derive(&keys, root, repository, 1);
    const uint8_t *const got[] = {keys.data,        keys.metadata,        keys.index,
                                  keys.log,         keys.data_id,         keys.metadata_id,
                                  keys.snapshot_id, keys.directory_split, keys.chunker};
    cairn_buf_put(&material, root, 32);
    cairn_buf_put(&material, repository, 16);
    cairn_buf_put_u32(&material, 1);
    for (size_t i = 0; i < 9; i++) {
        uint8_t wanted[32];
        char context[64];
        (void)snprintf(context, sizeof(context), "cairn 2026 format 1 %s", purposes[i]);
        cairn_hash_derive(wanted, context, material.data, material.len);
        assert_memory_equal(got[i], wanted, 32);
    }
    cairn_keys_derive(&other, root, repository, 2);
    assert_memory_not_equal(other.data, keys.data, 32);
    repository[15] ^= 1;
    cairn_keys_derive(&other, root, repository, 1);
    assert_memory_not_equal(other.data, keys.data, 32);
    cairn_buf_release(&material);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_vectors),
        cmocka_unit_test(pieces_give_the_same),
        cmocka_unit_test(ids_are_compared_whole),
        cmocka_unit_test(keys_follow_the_format),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
