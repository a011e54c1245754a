/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli.h"

/* Columns on a terminal: one for each code point. */
static size_t display_width(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

int cli_table_add(struct cli_table *table, const char *text, struct cairn_error *err)
{
    size_t len = strlen(text), cap = len * 4 + 5;
    char *cell = malloc(cap);
    if (cell && table->cell_count == table->cell_cap) {
        size_t wanted = table->cell_cap ? table->cell_cap * 2 : 64;
        char **cells = reallocarray(table->cells, wanted, sizeof(*cells));
        if (cells) {
            table->cells = cells;
            table->cell_cap = wanted;
        }
    }
    if (cell == NULL || table->cell_count == table->cell_cap) {
        free(cell);
        return cairn_error_no_memory(err, "a table");
    }
    cairn_escape(cell, cap, text, len);
    size_t width = display_width(cell), column = table->cell_count % table->columns;
    if (width > table->width[column])
        table->width[column] = width;
    table->cells[table->cell_count++] = cell;
    return CAIRN_OK;
}

static void print_row(const struct cli_table *table, size_t first)
{
    for (size_t i = 0; i < table->columns; i++) {
        const char *cell = table->cells[first + i];
        int pad = (int)(table->width[i] - display_width(cell));
        bool last = i + 1 == table->columns, right = table->right & (1u << i);
        cli_out("%s%*s%s%*s", i ? "  " : "", right ? pad : 0, "", cell, right || last ? 0 : pad,
                "");
    }
    cli_out("\n");
}

static void print_line(const struct cli_table *table)
{
    size_t width = (table->columns - 1) * 2;
    for (size_t i = 0; i < table->columns; i++)
        width += table->width[i];
    for (size_t i = 0; i < width; i++)
        cli_out("-");
    cli_out("\n");
}

void cli_table_print(const struct cli_table *table)
{
    for (size_t at = 0; at + table->columns <= table->cell_count; at += table->columns) {
        print_row(table, at);
        if (at == 0)
            print_line(table);
    }
    print_line(table);
}

void cli_table_release(struct cli_table *table)
{
    for (size_t i = 0; i < table->cell_count; i++)
        free(table->cells[i]);
    free(table->cells);
    table->cells = NULL;
    table->cell_count = table->cell_cap = 0;
}
