/* SPDX-License-Identifier: Apache-2.0
 *
 * table.h - rows of text, aligned in columns.
 */
#ifndef CAIRN_CLI_TABLE_H
#define CAIRN_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include <cairn/cairn.h>

#define CLI_TABLE_COLUMNS 8

struct cli_table {
    size_t columns;
    unsigned right; /* bit i: column i is aligned to the right */
    size_t width[CLI_TABLE_COLUMNS];
    char **cells; /* row by row */
    size_t cell_count, cell_cap;
};

/* Adds a cell, escaped for a terminal; a row is full after `columns` of them. */
int cli_table_add(struct cli_table *table, const char *text, struct cairn_error *err);

/* Prints the first row as the heading, a line, the rest, and a line. */
void cli_table_print(const struct cli_table *table);

void cli_table_release(struct cli_table *table);

#endif
