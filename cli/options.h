/* SPDX-License-Identifier: Apache-2.0
 *
 * options.h - a table-driven parser of command-line options.
 *
 * A table describes options; parsing fills a structure. "--name value", "--name=value", "-n value",
 * "-nvalue" and bundled flags ("-lR") are understood; "--" ends the options.
 */
#ifndef CAIRN_CLI_OPTIONS_H
#define CAIRN_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include <cairn/cairn.h>

enum cli_option_kind {
    CLI_FLAG = 1, /* bool */
    CLI_COUNT,    /* unsigned, one more each time */
    CLI_TEXT,     /* const char *; the last one counts */
    CLI_LIST,     /* struct cli_list */
    CLI_PARSED    /* by .parse */
};

/* The values of an option that may be repeated. Borrowed from argv; cli_list_release frees. */
struct cli_list {
    const char **items;
    size_t count;
};

struct cli_option {
    const char *name; /* without dashes; NULL ends the table */
    char letter;      /* of the short form, or 0 */
    int kind;         /* enum cli_option_kind */
    size_t offset;    /* of the field */
    const char *value;
    const char *help;
    bool (*parse)(const char *word, void *field); /* CLI_PARSED: false if the word makes no sense */
    const char *expects;                          /* CLI_PARSED: what makes sense */
};

/* A table and the structure that it fills. */
struct cli_option_set {
    const struct cli_option *table;
    void *base;
};

struct cli_parser {
    struct cli_option_set sets[2]; /* the second may be empty */
    const char *const *later;      /* options of other versions, or NULL */
    const char *what;              /* the command's name, or "cairn" */
    bool is_global;                /* it is "cairn" */
    bool stop_at_argument;         /* leave the first argument and what follows it */
    const char **args;             /* room for argc pointers: arguments that are no options */
    size_t arg_count;
};

/* Parses argv[0] to argv[argc - 1] (options begin at argv[0]). *used is how many were consumed.
 * CAIRN_MISUSE, CAIRN_NO_MEMORY; what was filled in so far stays and is released as ever. */
int cli_parse(struct cli_parser *parser, int argc, char *const *argv, int *used,
              struct cairn_error *err);

void cli_list_release(struct cli_list *list);

/* Frees the lists that the table's options filled. */
void cli_option_set_release(const struct cli_option_set *set);

/* Parsers for CLI_PARSED, and what they expect. The first fills an int, the next two a uint64_t. */
bool cli_parse_level(const char *word, void *field);
bool cli_parse_size(const char *word, void *field);
bool cli_parse_number(const char *word, void *field);
#define CLI_EXPECTS_LEVEL "none, metadata, filesystem or file"
#define CLI_EXPECTS_SIZE "a size such as 512K, 64M or 2G"
#define CLI_EXPECTS_NUMBER "a number above 0"

#endif
