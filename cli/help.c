/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

#define HELP_COLUMN 30

static void print_option(const struct cli_option *o)
{
    char left[80];
    int n = snprintf(left, sizeof(left), "  %c%c%s --%s%s%s", o->letter ? '-' : ' ',
                     o->letter ? o->letter : ' ', o->letter ? "," : " ", o->name,
                     o->value ? " " : "", o->value ? o->value : "");
    if (n >= HELP_COLUMN)
        cli_out("%s\n%*s%s\n", left, HELP_COLUMN, "", o->help);
    else
        cli_out("%-*s%s\n", HELP_COLUMN, left, o->help);
}

static void print_options(const char *heading, const struct cli_option *options)
{
    if (options == NULL || options->name == NULL)
        return;
    cli_out("\n%s:\n", heading);
    for (; options->name; options++)
        print_option(options);
}

static void print_general(void)
{
    cli_out("cairn %s: deduplicating, encrypted, verifiable backups\n\n"
            "usage: cairn [-r REPO] [OPTIONS] COMMAND ...\n\ncommands:\n",
            cairn_version());
    for (const struct cli_command *const *c = cli_commands; *c; c++)
        cli_out("  %-11s %s\n", (*c)->name, (*c)->summary);
    print_options("options of every command", cli_global_options);
    cli_out("\nSNAPSHOT is an id, the unique beginning of one, or latest. SIZE takes K, M, G, T.\n"
            "Exit status: 0 done; 1 failed; 2 wrong usage; 3 done, but some items could not be "
            "read or\nset; 4 check found damage; 10 no repository there; 11 in use; 12 wrong "
            "password.\n"
            "\n`cairn help COMMAND` explains a command, cairn(1) everything.\n");
}

void cli_help(const struct cli_command *command)
{
    if (command == NULL) {
        print_general();
        return;
    }
    cli_out("usage: cairn %s%s%s\n\n%s.\n", command->name, *command->usage ? " " : "",
            command->usage, command->summary);
    if (command->details)
        cli_out("\n%s\n", command->details);
    print_options("options", command->options);
    cli_out("\nThe options of every command are listed by `cairn help`; see also cairn-%s(1).\n",
            command->name);
}
