/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli.h"

#define WORD_MAX 40

/* A word that other programs use, and what to do here instead. */
struct foreign {
    const char *word;
    const char *own;  /* the command that does it, or NULL */
    const char *text; /* instead of a command */
};

static const struct foreign foreign_words[] = {
    {"garbage-collection", "prune", NULL},
    {"gc", "prune", NULL},
    {"compact", "prune", NULL},
    {"cleanup", "prune", NULL},
    {"delete", "forget", NULL},
    {"remove", "forget", NULL},
    {"rm", "forget", NULL},
    {"expire", "forget", NULL},
    {"verify", "check", NULL},
    {"fsck", "check", NULL},
    {"scrub", "check", NULL},
    {"validate", "check", NULL},
    {"rebuild-index", "repair", NULL},
    {"heal", "repair", NULL},
    {"list", "snapshots", NULL},
    {"history", "snapshots", NULL},
    {"log", "snapshots", NULL},
    {"archives", "snapshots", NULL},
    {"extract", "restore", NULL},
    {"recover", "restore", NULL},
    {"checkout", "restore", NULL},
    {"save", "backup", NULL},
    {"snapshot", "backup", NULL},
    {"put", "backup", NULL},
    {"rcreate", "init", NULL},
    {"repo-create", "init", NULL},
    {"dump", "cat", NULL},
    {"dir", "ls", NULL},
    {"umount", "mount", NULL},
    {"passwd", "key", NULL},
    {"info", "stats", NULL},
    {"create", NULL, "`cairn init` makes a repository, `cairn backup` a snapshot"},
    {"unlock", NULL, "cairn has no locks to remove"},
    {"break-lock", NULL, "cairn has no locks to remove"},
    {"sync", NULL, "what a backup promises when it says done is set by --sync-level"},
    {NULL, NULL, NULL},
};

/* Commands that the design names and this version does not have. */
static const char *const later_commands[] = {
    "diff",  "stats",  "find",   "locate", "index",      "sql", "mount",  "forget",
    "prune", "tag",    "repair", "status", "drill",      "key", "config", "copy",
    "cp",    "object", "bench",  "cache",  "completion", NULL,
};

static bool is_later(const char *name)
{
    for (const char *const *w = later_commands; *w; w++) {
        if (strcmp(*w, name) == 0)
            return true;
    }
    return false;
}

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Edits (insert, delete, replace, swap of neighbours) that turn a into b. */
static unsigned distance(const char *a, const char *b)
{
    unsigned rows[3][WORD_MAX + 1];
    size_t la = strlen(a), lb = strlen(b);
    if (la > WORD_MAX || lb > WORD_MAX)
        return WORD_MAX;
    for (unsigned j = 0; j <= lb; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= la; i++) {
        unsigned *now = rows[i % 3], *last = rows[(i + 2) % 3], *older = rows[(i + 1) % 3];
        now[0] = i;
        for (unsigned j = 1; j <= lb; j++) {
            now[j] =
                smaller(smaller(last[j], now[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = smaller(now[j], older[j - 2] + 1);
        }
    }
    return rows[la % 3][lb];
}

const char *cli_suggest(const char *word, const char *const *words)
{
    const char *best = NULL;
    size_t len = strlen(word);
    unsigned nearest = len < 4 ? 2 : len < 8 ? 3 : 4; /* the first distance that is too far */
    for (; *words; words++) {
        unsigned d = distance(word, *words);
        if (len >= 3 && strncmp(*words, word, len) == 0)
            d = 1;
        if (d < nearest) {
            nearest = d;
            best = *words;
        }
    }
    return best;
}

static const char *nearest_command(const char *name)
{
    const char *words[64];
    size_t n = 0;
    for (const struct cli_command *const *c = cli_commands; *c && n < 63; c++)
        words[n++] = (*c)->name;
    words[n] = NULL;
    return cli_suggest(name, words);
}

int cli_command_unknown(const struct cli *cli, const char *name)
{
    char shown[200];
    cairn_escape(shown, sizeof(shown), name, strlen(name));
    if (is_later(name))
        return cli_report_exit(cli, CLI_EXIT_USAGE,
                               "unknown command %s: it is not in this version (%s); see `cairn "
                               "help`",
                               shown, cairn_version());
    for (const struct foreign *f = foreign_words; f->word; f++) {
        if (strcmp(f->word, name) != 0)
            continue;
        if (f->text)
            return cli_report_exit(cli, CLI_EXIT_USAGE, "unknown command %s: %s", shown, f->text);
        return cli_report_exit(cli, CLI_EXIT_USAGE, "unknown command %s: in cairn it is %s%s",
                               shown, f->own,
                               is_later(f->own) ? ", which is not in this version" : "");
    }
    const char *close = nearest_command(name);
    if (close)
        return cli_report_exit(cli, CLI_EXIT_USAGE, "unknown command %s; did you mean %s?", shown,
                               close);
    close = cli_suggest(name, later_commands);
    return cli_report_exit(cli, CLI_EXIT_USAGE, "unknown command %s%s%s%s; see `cairn help`", shown,
                           close ? " (" : "", close ? close : "",
                           close ? " is not in this version)" : "");
}
