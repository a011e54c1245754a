/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/names.h"
#include "cli.h"

#define OPTIONS_MAX 64

/* A parse in progress: the option at hand and where its value would come from. */
struct cursor {
    struct cli_parser *parser;
    int argc, at;
    char *const *argv;
    char shown[300]; /* the option as it was given, escaped */
};

bool cli_parse_level(const char *word, void *field)
{
    return cairn_level_parse(word, field);
}

bool cli_parse_size(const char *word, void *field)
{
    return cairn_size_parse(word, field);
}

bool cli_parse_number(const char *word, void *field)
{
    uint64_t value = 0;
    for (const char *at = word; *at; at++) {
        if (*at < '0' || *at > '9' || value > (UINT64_MAX - 9) / 10)
            return false;
        value = value * 10 + (uint64_t)(*at - '0');
    }
    *(uint64_t *)field = value;
    return value > 0;
}

void cli_list_release(struct cli_list *list)
{
    free(list->items);
    list->items = NULL;
    list->count = 0;
}

void cli_option_set_release(const struct cli_option_set *set)
{
    for (const struct cli_option *o = set->table; o && o->name; o++) {
        if (o->kind == CLI_LIST)
            cli_list_release((struct cli_list *)(void *)((char *)set->base + o->offset));
    }
}

static int list_add(struct cli_list *list, const char *item, struct cairn_error *err)
{
    const char **items = reallocarray(list->items, list->count + 1, sizeof(*items));
    if (items == NULL)
        return cairn_error_no_memory(err, "the command line");
    items[list->count++] = item;
    list->items = items;
    return CAIRN_OK;
}

/* Finds an option by its long name (len bytes) or, with name NULL, by its letter. */
static const struct cli_option *find(const struct cli_parser *p, const char *name, size_t len,
                                     char letter, void **base)
{
    for (size_t i = 0; i < 2; i++) {
        for (const struct cli_option *o = p->sets[i].table; o && o->name; o++) {
            bool same = name ? strlen(o->name) == len && memcmp(o->name, name, len) == 0
                             : o->letter == letter && letter != 0;
            if (same) {
                *base = p->sets[i].base;
                return o;
            }
        }
    }
    return NULL;
}

static bool takes_value(const struct cli_option *option)
{
    return option->kind != CLI_FLAG && option->kind != CLI_COUNT;
}

static int unknown(const struct cursor *c, const char *name, struct cairn_error *err)
{
    const struct cli_parser *p = c->parser;
    const char *words[OPTIONS_MAX + 1];
    size_t n = 0;
    for (const char *const *later = p->later; later && *later && name; later++) {
        if (strcmp(*later, name) == 0)
            return cairn_error_set(err, CAIRN_MISUSE, 0, "%s: %s is not in this version (%s)",
                                   p->what, c->shown, cairn_version());
    }
    for (size_t i = 0; i < 2; i++) {
        for (const struct cli_option *o = p->sets[i].table; o && o->name && n < OPTIONS_MAX; o++)
            words[n++] = o->name;
    }
    words[n] = NULL;
    const char *close = name ? cli_suggest(name, words) : NULL;
    if (close)
        return cairn_error_set(err, CAIRN_MISUSE, 0, "%s has no option %s; did you mean --%s?",
                               p->what, c->shown, close);
    return cairn_error_set(err, CAIRN_MISUSE, 0, "%s has no option %s; see `cairn %s%shelp`",
                           p->what, c->shown, p->is_global ? "" : p->what,
                           p->is_global ? "" : " --");
}

/* Stores one option; value is NULL where it takes none. */
static int store(const struct cursor *c, const struct cli_option *option, void *base,
                 const char *value, struct cairn_error *err)
{
    void *field = (char *)base + option->offset;
    char word[200];
    switch (option->kind) {
    case CLI_FLAG:
        *(bool *)field = true;
        return CAIRN_OK;
    case CLI_COUNT:
        (*(unsigned *)field)++;
        return CAIRN_OK;
    case CLI_TEXT:
        *(const char **)field = value;
        return CAIRN_OK;
    case CLI_LIST:
        return list_add(field, value, err);
    default:
        if (option->parse(value, field))
            return CAIRN_OK;
        cairn_escape(word, sizeof(word), value, strlen(value));
        return cairn_error_set(err, CAIRN_MISUSE, 0, "%s: --%s expects %s, not \"%s\"",
                               c->parser->what, option->name, option->expects, word);
    }
}

/* The argument that follows, as a value. */
static int next_value(struct cursor *c, const struct cli_option *option, const char **value,
                      struct cairn_error *err)
{
    if (c->at >= c->argc)
        return cairn_error_set(err, CAIRN_MISUSE, 0, "%s: %s needs a value (%s)", c->parser->what,
                               c->shown, option->value);
    *value = c->argv[c->at++];
    return CAIRN_OK;
}

static int parse_long(struct cursor *c, const char *arg, struct cairn_error *err)
{
    const char *equals = strchr(arg, '=');
    size_t len = equals ? (size_t)(equals - arg) : strlen(arg);
    const char *value = equals ? equals + 1 : NULL;
    void *base = NULL;
    const struct cli_option *option = find(c->parser, arg, len, 0, &base);
    cairn_escape(c->shown, sizeof(c->shown), arg - 2, len + 2);
    if (option == NULL)
        return unknown(c, c->shown + 2, err);
    if (value && !takes_value(option))
        return cairn_error_set(err, CAIRN_MISUSE, 0, "%s: %s takes no value", c->parser->what,
                               c->shown);
    int status = CAIRN_OK;
    if (takes_value(option) && value == NULL)
        status = next_value(c, option, &value, err);
    return status ? status : store(c, option, base, value, err);
}

static int parse_short(struct cursor *c, const char *letters, struct cairn_error *err)
{
    int status = CAIRN_OK;
    for (; *letters && status == CAIRN_OK; letters++) {
        void *base = NULL;
        const struct cli_option *option = find(c->parser, NULL, 0, *letters, &base);
        const char given[] = {'-', *letters};
        cairn_escape(c->shown, sizeof(c->shown), given, sizeof(given));
        if (option == NULL)
            return unknown(c, NULL, err);
        if (!takes_value(option)) {
            status = store(c, option, base, NULL, err);
            continue;
        }
        const char *value = letters + 1;
        if (*value == '\0')
            status = next_value(c, option, &value, err);
        return status ? status : store(c, option, base, value, err);
    }
    return status;
}

int cli_parse(struct cli_parser *parser, int argc, char *const *argv, int *used,
              struct cairn_error *err)
{
    struct cursor c = {.parser = parser, .argc = argc, .argv = argv};
    int status = CAIRN_OK;
    bool ended = false;
    while (status == CAIRN_OK && c.at < argc) {
        const char *arg = argv[c.at];
        bool is_option = !ended && arg[0] == '-' && arg[1] != '\0';
        if (!is_option && parser->stop_at_argument)
            break;
        c.at++;
        if (!is_option)
            parser->args[parser->arg_count++] = arg;
        else if (strcmp(arg, "--") == 0)
            ended = true;
        else if (arg[1] == '-')
            status = parse_long(&c, arg + 2, err);
        else
            status = parse_short(&c, arg + 1, err);
    }
    *used = c.at;
    return status;
}
