/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/names.h"
#include "cli.h"
#include "events.h"
#include "format.h"
#include "json.h"
#include "paths.h"

struct backup_options {
    struct cli_list tags;
    const char *host, *parent;
    bool force, with_atime, dry_run;
    int level, compression;
    struct cli_list files_from, excludes, exclude_files, exclude_if_present;
    bool exclude_caches, one_file_system;
};

static bool parse_compression(const char *word, void *field)
{
    uint64_t level = 0;
    if (strcmp(word, "auto") == 0)
        *(int *)field = 0;
    else if (strcmp(word, "off") == 0)
        *(int *)field = -1;
    else if (cli_parse_number(word, &level) && level <= 19)
        *(int *)field = (int)level;
    else
        return false;
    return true;
}

static const struct cli_option options[] = {
    {.name = "files-from",
     .kind = CLI_LIST,
     .offset = offsetof(struct backup_options, files_from),
     .value = "FILE",
     .help = "store the paths in FILE (- is standard input) too, one a line, or each ended by a "
             "zero byte"},
    {.name = "exclude",
     .letter = 'e',
     .kind = CLI_LIST,
     .offset = offsetof(struct backup_options, excludes),
     .value = "PATTERN",
     .help = "leave out what matches; the rules are those of .gitignore"},
    {.name = "exclude-file",
     .kind = CLI_LIST,
     .offset = offsetof(struct backup_options, exclude_files),
     .value = "FILE",
     .help = "leave out what matches the patterns in FILE"},
    {.name = "exclude-caches",
     .kind = CLI_FLAG,
     .offset = offsetof(struct backup_options, exclude_caches),
     .help = "leave out the contents of directories with a CACHEDIR.TAG"},
    {.name = "exclude-if-present",
     .kind = CLI_LIST,
     .offset = offsetof(struct backup_options, exclude_if_present),
     .value = "NAME",
     .help = "leave out the contents of directories that have a file NAME"},
    {.name = "one-file-system",
     .letter = 'x',
     .kind = CLI_FLAG,
     .offset = offsetof(struct backup_options, one_file_system),
     .help = "leave out what is mounted below the given paths"},
    {.name = "tag",
     .kind = CLI_LIST,
     .offset = offsetof(struct backup_options, tags),
     .value = "TAG",
     .help = "label the snapshot; may be repeated"},
    {.name = "host",
     .kind = CLI_TEXT,
     .offset = offsetof(struct backup_options, host),
     .value = "HOST",
     .help = "record this host name instead of this machine's"},
    {.name = "force",
     .kind = CLI_FLAG,
     .offset = offsetof(struct backup_options, force),
     .help = "read every file, whatever the parent snapshot says"},
    {.name = "parent",
     .kind = CLI_TEXT,
     .offset = offsetof(struct backup_options, parent),
     .value = "SNAPSHOT",
     .help = "compare with this snapshot (the latest of the same host and paths)"},
    {.name = "with-atime",
     .kind = CLI_FLAG,
     .offset = offsetof(struct backup_options, with_atime),
     .help = "keep access times too"},
    {.name = "dry-run",
     .kind = CLI_FLAG,
     .offset = offsetof(struct backup_options, dry_run),
     .help = "say what would be stored, write nothing"},
    {.name = "sync-level",
     .kind = CLI_PARSED,
     .offset = offsetof(struct backup_options, level),
     .value = "LEVEL",
     .parse = cli_parse_level,
     .expects = CLI_EXPECTS_LEVEL,
     .help = "none, metadata, filesystem or file (the repository's default)"},
    {.name = "compression",
     .kind = CLI_PARSED,
     .offset = offsetof(struct backup_options, compression),
     .value = "MODE",
     .parse = parse_compression,
     .expects = "auto, off or a zstd level from 1 to 19",
     .help = "auto (the default), off, or a zstd level from 1 to 19"},
    {0},
};

static const char *const later[] = {"stdin", "stdin-name",   "command",
                                    "image", "limit-upload", NULL};

static void print_json(const struct cairn_backup_result *r, bool dry_run)
{
    json_t *object = cli_json_object("summary");
    cli_json_number(object, "files_new", r->files_new);
    cli_json_number(object, "files_changed", r->files_changed);
    cli_json_number(object, "files_unmodified", r->files_unmodified);
    cli_json_number(object, "dirs_new", r->dirs_new);
    cli_json_number(object, "dirs_changed", r->dirs_changed);
    cli_json_number(object, "dirs_unmodified", r->dirs_unmodified);
    cli_json_number(object, "others", r->others);
    cli_json_number(object, "data_added", r->bytes_added);
    cli_json_number(object, "data_added_packed", r->bytes_stored);
    cli_json_number(object, "total_files_processed", r->files_processed);
    cli_json_number(object, "total_bytes_processed", r->bytes_processed);
    cli_json_set(object, "total_duration", json_real(r->seconds));
    cli_json_number(object, "excluded", r->excluded);
    cli_json_number(object, "error_count", r->problems);
    if (dry_run)
        cli_json_set(object, "dry_run", json_true());
    else
        cli_json_id(object, "snapshot_id", &r->snapshot, 0);
    cli_json_set(object, "sync_level", json_string(cairn_level_name(r->level)));
    cli_json_print(stdout, object);
}

static void print_text(const struct cairn_backup_result *r, bool dry_run)
{
    char added[CLI_SIZE_TEXT], stored[CLI_SIZE_TEXT], all[CLI_SIZE_TEXT], took[CLI_TIME_TEXT],
        id[CLI_SHORT_ID + 1];
    cli_format_size(added, r->bytes_added);
    cli_format_size(stored, r->bytes_stored);
    cli_format_size(all, r->bytes_processed);
    cli_format_duration(took, r->seconds);
    cli_format_id(id, &r->snapshot);
    cli_out("Files:  %10llu new, %10llu changed, %10llu unmodified\n",
            (unsigned long long)r->files_new, (unsigned long long)r->files_changed,
            (unsigned long long)r->files_unmodified);
    cli_out("Dirs:   %10llu new, %10llu changed, %10llu unmodified\n",
            (unsigned long long)r->dirs_new, (unsigned long long)r->dirs_changed,
            (unsigned long long)r->dirs_unmodified);
    if (r->others)
        cli_out("Others: %10llu symlinks, devices, FIFOs and sockets\n",
                (unsigned long long)r->others);
    if (r->excluded)
        cli_out("Left out: %8llu entries excluded, on other file systems, or the repository "
                "itself\n",
                (unsigned long long)r->excluded);
    cli_out("%s: %s (%s stored)\n", dry_run ? "Would be added" : "Added to the repository", added,
            stored);
    cli_out("\nprocessed %llu files, %s in %s\n", (unsigned long long)r->files_processed, all,
            took);
    if (dry_run)
        cli_out("dry run: nothing was written\n");
    else
        cli_out("snapshot %s saved (sync level %s)\n", id, cairn_level_name(r->level));
}

static int run(struct cli *cli, void *given, const struct cli_args *args)
{
    const struct backup_options *o = given;
    struct cairn_error err = {0};
    struct cairn_backup_result result = {0};
    struct cli_events events;
    struct cli_paths paths = {0};
    int code = CLI_EXIT_DONE;
    int status = cli_paths_gather(&paths, args, &o->files_from, &err);
    if (status == CAIRN_OK && paths.count == 0)
        status = cairn_error_set(&err, CAIRN_MISUSE, 0,
                                 "backup needs a PATH, or --files-from with at least one in it");
    if (status == CAIRN_OK)
        status = cli_open(cli, &err);
    if (status != CAIRN_OK) {
        code = cli_report(cli, &err);
        goto out;
    }
    cli_events_init(&events, cli, "backup");
    events.shows_new = true;
    const struct cairn_backup_options backup = {.size = sizeof(backup),
                                                .paths = paths.items,
                                                .path_count = paths.count,
                                                .tags = o->tags.items,
                                                .tag_count = o->tags.count,
                                                .host = o->host,
                                                .parent = o->parent,
                                                .force = o->force,
                                                .with_atime = o->with_atime,
                                                .dry_run = o->dry_run,
                                                .level = o->level,
                                                .compression = o->compression,
                                                .event = cli_events_receive,
                                                .event_ctx = &events,
                                                .excludes = o->excludes.items,
                                                .exclude_count = o->excludes.count,
                                                .exclude_files = o->exclude_files.items,
                                                .exclude_file_count = o->exclude_files.count,
                                                .exclude_if_present = o->exclude_if_present.items,
                                                .exclude_if_present_count =
                                                    o->exclude_if_present.count,
                                                .exclude_caches = o->exclude_caches,
                                                .one_file_system = o->one_file_system,
                                                .items = cli->verbose > 0};
    status = cairn_backup(cli->opened, &backup, &result, &err);
    cli_events_end(&events);
    if (status != CAIRN_OK) {
        code = cli_report(cli, &err);
        goto out;
    }
    if (cli->json)
        print_json(&result, o->dry_run);
    else if (!cli->quiet)
        print_text(&result, o->dry_run);
    if (result.problems > 0)
        code = cli_report_exit(
            cli, CLI_EXIT_PARTIAL,
            "%llu item%s could not be read as expected (named above); everything else "
            "was %s",
            (unsigned long long)result.problems, result.problems == 1 ? "" : "s",
            o->dry_run ? "looked at" : "saved");
out:
    cli_paths_release(&paths);
    return code;
}

const struct cli_command cli_cmd_backup = {
    .name = "backup",
    .usage = "PATH... [OPTIONS]",
    .summary = "store files and directories as a new snapshot",
    .options = options,
    .options_size = sizeof(struct backup_options),
    .later = later,
    .args_max = UINT32_MAX,
    .interrupted = "no snapshot was made, and the next backup uses what was stored already",
    .run = run,
};
