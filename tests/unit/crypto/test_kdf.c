/* SPDX-License-Identifier: Apache-2.0
 *
 * Key derivation: the Argon2 library passes the vector of RFC 9106, 5.3, and cairn calls it with
 * what docs/format.md says; costs out of range are refused before any work.
 */
#include "../store/test.h"

#include <argon2.h>

#include "base/hex.h"
#include "crypto/kdf.h"

static void the_library_knows_rfc_9106(void **state)
{
    uint8_t out[32], password[32], salt[16], secret[8], ad[12], wanted[32];
    (void)state;
    memset(password, 1, sizeof(password));
    memset(salt, 2, sizeof(salt));
    memset(secret, 3, sizeof(secret));
    memset(ad, 4, sizeof(ad));
    argon2_context c = {.out = out,
                        .outlen = 32,
                        .pwd = password,
                        .pwdlen = 32,
                        .salt = salt,
                        .saltlen = 16,
                        .secret = secret,
                        .secretlen = 8,
                        .ad = ad,
                        .adlen = 12,
                        .t_cost = 3,
                        .m_cost = 32,
                        .lanes = 4,
                        .threads = 4,
                        .version = ARGON2_VERSION_13};
    assert_true(cairn_hex_decode(
        wanted, "0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659", 32));
    assert_int_equal(argon2id_ctx(&c), ARGON2_OK);
    assert_memory_equal(out, wanted, 32);
}

static void the_call_is_as_the_format_says(void **state)
{
    const struct cairn_kdf_cost cost = {65536, 3, 2};
    uint8_t salt[32], out[32], wanted[32], empty[32];
    char password[] = "correct horse";
    (void)state;
    test_fill(salt, sizeof(salt), 1);
    argon2_context c = {.out = wanted,
                        .outlen = 32,
                        .pwd = (uint8_t *)password,
                        .pwdlen = 13,
                        .salt = salt,
                        .saltlen = 32,
                        .t_cost = 3,
                        .m_cost = 65536,
                        .lanes = 2,
                        .threads = 2,
                        .version = 0x13};
    assert_int_equal(argon2id_ctx(&c), ARGON2_OK);
    assert_int_equal(cairn_kdf_argon2id(out, password, 13, salt, &cost, NULL), CAIRN_OK);
    assert_memory_equal(out, wanted, 32);
    assert_int_equal(cairn_kdf_argon2id(empty, "", 0, salt, &cost, NULL), CAIRN_OK);
    assert_memory_not_equal(empty, wanted, 32);
}

static void costs_out_of_range_are_refused(void **state)
{
    static const struct cairn_kdf_cost wrong[] = {
        {0, 3, 4},       {65535, 3, 4},      {65535, 64, 4},         {8, 1000, 1},
        {4194305, 3, 4}, {UINT32_MAX, 3, 4}, {65536, 0, 4},          {65536, 1, 4},
        {65536, 2, 4},   {2097151, 2, 4},    {65536, 65, 4},         {65536, UINT32_MAX, 4},
        {65536, 3, 0},   {65536, 3, 65},     {65536, 3, UINT32_MAX},
    };
    uint8_t salt[32] = {0}, out[32];
    (void)state;
    memset(out, 0x77, sizeof(out));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct cairn_error err;
        assert_int_equal(cairn_kdf_argon2id(out, "x", 1, salt, &wrong[i], &err), CAIRN_LIMIT);
        assert_int_equal(err.status, CAIRN_LIMIT);
    }
    for (size_t i = 0; i < sizeof(out); i++)
        assert_int_equal(out[i], 0x77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_knows_rfc_9106),
        cmocka_unit_test(the_call_is_as_the_format_says),
        cmocka_unit_test(costs_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
