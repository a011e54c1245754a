/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"
#include "json.h"

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* What the build was made with, as cli/meson.build says. */
static const struct {
    const char *name, *value;
} parts[] = {
    {"compiler", COMPILER},       {"machine", CAIRN_BUILD_MACHINE}, {"build", CAIRN_BUILD_TYPE},
    {"libcrypto", CAIRN_OPENSSL}, {"libzstd", CAIRN_ZSTD},          {"libargon2", CAIRN_ARGON2},
    {"liburing", CAIRN_URING},    {"blake3", CAIRN_BLAKE3},         {"jansson", JANSSON_VERSION},
};

static int run(struct cli *cli, void *given, const struct cli_args *args)
{
    size_t count = sizeof(parts) / sizeof(parts[0]);
    (void)given;
    (void)args;
    if (cli->json) {
        json_t *object = cli_json_object("version");
        cli_json_text(object, "version", cairn_version());
        cli_json_number(object, "repository_format", 1);
        for (size_t i = 0; i < count; i++)
            cli_json_text(object, parts[i].name, parts[i].value);
        cli_json_print(stdout, object);
        return CLI_EXIT_DONE;
    }
    cli_out("cairn %s\nrepository format 1\n", cairn_version());
    for (size_t i = 0; i < count && !cli->quiet; i++)
        cli_out("%-10s %s\n", parts[i].name, parts[i].value);
    return CLI_EXIT_DONE;
}

const struct cli_command cli_cmd_version = {
    .name = "version",
    .usage = "",
    .summary = "print the version and what it was built with",
    .args_max = 0,
    .run = run,
};
