/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/names.h"
#include "cli.h"
#include "format.h"
#include "json.h"

struct init_options {
    int aead, chunker, level;
    uint64_t chunk_size;
};

struct word {
    const char *name;
    int value;
};

static const struct word aeads[] = {{"aes-256-gcm", CAIRN_AEAD_AES_256_GCM},
                                    {"chacha20-poly1305", CAIRN_AEAD_CHACHA20_POLY1305},
                                    {"none", CAIRN_AEAD_NONE},
                                    {NULL, 0}};
static const struct word chunkers[] = {
    {"dynamic", CAIRN_CHUNKER_DYNAMIC}, {"fixed", CAIRN_CHUNKER_FIXED}, {NULL, 0}};

static bool parse_word(const struct word *words, const char *given, void *field)
{
    for (; words->name; words++) {
        if (strcmp(words->name, given) == 0) {
            *(int *)field = words->value;
            return true;
        }
    }
    return false;
}

static const char *name_of(const struct word *words, int value)
{
    for (; words->name; words++) {
        if (words->value == value)
            return words->name;
    }
    return "unknown";
}

static bool parse_aead(const char *word, void *field)
{
    return parse_word(aeads, word, field);
}

static bool parse_chunker(const char *word, void *field)
{
    return parse_word(chunkers, word, field);
}

static const struct cli_option options[] = {
    {.name = "encryption",
     .kind = CLI_PARSED,
     .offset = offsetof(struct init_options, aead),
     .value = "CIPHER",
     .parse = parse_aead,
     .expects = "aes-256-gcm, chacha20-poly1305 or none",
     .help = "aes-256-gcm (the default), chacha20-poly1305, none"},
    {.name = "chunker",
     .kind = CLI_PARSED,
     .offset = offsetof(struct init_options, chunker),
     .value = "KIND",
     .parse = parse_chunker,
     .expects = "dynamic or fixed",
     .help = "dynamic (the default; cut by content), fixed (for disk images)"},
    {.name = "chunk-size",
     .kind = CLI_PARSED,
     .offset = offsetof(struct init_options, chunk_size),
     .value = "SIZE",
     .parse = cli_parse_size,
     .expects = CLI_EXPECTS_SIZE,
     .help = "average or fixed size, a power of two from 64K to 4M (1M dynamic, 4M fixed)"},
    {.name = "sync-level",
     .kind = CLI_PARSED,
     .offset = offsetof(struct init_options, level),
     .value = "LEVEL",
     .parse = cli_parse_level,
     .expects = CLI_EXPECTS_LEVEL,
     .help = "the repository's default: none, metadata, filesystem (the default), file"},
    {0},
};

static const char *const later[] = {"file-hash", "parity", "append-only", NULL};

static void print_json(const struct cli *cli, const struct cairn_repo_info *info,
                       const struct cairn_repo_options *repo, const char *id)
{
    json_t *object = cli_json_object("initialized");
    cli_json_set(object, "id", json_string(id));
    cli_json_text(object, "repository", repo->location);
    cli_json_set(object, "encryption", json_string(name_of(aeads, info->aead)));
    cli_json_set(object, "chunker", json_string(name_of(chunkers, info->chunker)));
    cli_json_number(object, "chunk_size", info->chunk_size);
    cli_json_set(object, "sync_level", json_string(cairn_level_name(info->level)));
    (void)cli;
    cli_json_print(stdout, object);
}

static void print_text(const struct cli *cli, const struct cairn_repo_info *info,
                       const struct cairn_repo_options *repo, const char *id)
{
    char size[CLI_SIZE_TEXT];
    if (cli->quiet)
        return;
    cli_format_size(size, info->chunk_size);
    cli_out("made repository %.*s at ", CLI_SHORT_ID, id);
    cli_out_name(repo->location, true);
    cli_out("\nencryption %s, chunks %s (%s), sync level %s\n", name_of(aeads, info->aead),
            name_of(chunkers, info->chunker), size, cairn_level_name(info->level));
    if (info->aead == CAIRN_AEAD_NONE) {
        cli_out("Nothing in it is encrypted: whoever can read it can read the backups.\n");
    } else if (repo->key_file) {
        cli_out("Keep a copy of the key file ");
        cli_out_name(repo->key_file, true);
        cli_out(" elsewhere: nothing can be read without it%s.\n",
                repo->password ? " or the password" : "");
    } else {
        cli_out("Keep the password: nothing can be read without it.\n");
    }
}

static int run(struct cli *cli, void *given, const struct cli_args *args)
{
    const struct init_options *o = given;
    struct cairn_error err = {0};
    struct cairn_repo_info info;
    struct cairn_repo_options repo;
    char id[33];
    (void)args;
    const struct cairn_init_options init = {.size = sizeof(init),
                                            .aead = o->aead,
                                            .chunker = o->chunker,
                                            .chunk_size = o->chunk_size,
                                            .level = o->level};
    if (cli_init(cli, &init, &err) != CAIRN_OK)
        return cli_report(cli, &err);
    cli_repo_options(cli, &repo);
    cairn_repo_get_info(cli->opened, &info);
    for (size_t i = 0; i < 16; i++)
        (void)snprintf(id + 2 * i, 3, "%02x", info.repository.bytes[i]);
    if (cli->json)
        print_json(cli, &info, &repo, id);
    else
        print_text(cli, &info, &repo, id);
    return CLI_EXIT_DONE;
}

const struct cli_command cli_cmd_init = {
    .name = "init",
    .usage = "-r REPO [--key-file FILE] [OPTIONS]",
    .summary = "make a new repository",
    .details =
        "REPO is a directory that does not exist or is empty. A password is asked for twice, "
        "unless\nit is named by an option or the environment, or --key-file names a key "
        "file, which is\nmade with mode 0600 if it does not exist.",
    .options = options,
    .options_size = sizeof(struct init_options),
    .later = later,
    .args_max = 0,
    .run = run,
};
