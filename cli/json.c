/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "cli.h"
#include "format.h"

#define DUMP_FLAGS (JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(10))

json_t *cli_json_object(const char *message_type)
{
    json_t *object = json_object();
    cli_json_set(object, "message_type", json_string(message_type));
    return object;
}

void cli_json_set(json_t *object, const char *field, json_t *value)
{
    /* It takes the reference even when it fails, and both may be NULL. */
    (void)json_object_set_new(object, field, value);
}

void cli_json_number(json_t *object, const char *field, uint64_t value)
{
    cli_json_set(object, field, json_integer((json_int_t)value));
}

/* Whether jansson takes it for UTF-8 decides, so that both always agree. */
static json_t *replaced(const char *bytes, size_t len)
{
    static const char mark[] = "\xef\xbf\xbd";
    char *text = malloc(len * 3 + 1);
    size_t n = 0;
    if (text == NULL)
        return NULL;
    for (size_t at = 0; at < len;) {
        size_t take = cli_utf8_length(bytes + at, len - at);
        memcpy(text + n, take ? bytes + at : mark, take ? take : 3);
        n += take ? take : 3;
        at += take ? take : 1;
    }
    json_t *value = json_stringn(text, n);
    free(text);
    return value;
}

static json_t *hex(const char *bytes, size_t len)
{
    char *text = malloc(len * 2 + 1);
    if (text == NULL)
        return NULL;
    cairn_hex_encode(text, (const uint8_t *)bytes, len);
    json_t *value = json_stringn(text, len * 2);
    free(text);
    return value;
}

static void set_hex(json_t *object, const char *field, json_t *value)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "%s_hex", field);
    cli_json_set(object, name, value);
}

void cli_json_text(json_t *object, const char *field, const char *bytes)
{
    size_t len = bytes ? strlen(bytes) : 0;
    json_t *value = json_stringn(bytes ? bytes : "", len);
    bool exact = value != NULL;
    cli_json_set(object, field, exact ? value : replaced(bytes, len));
    if (!exact)
        set_hex(object, field, hex(bytes, len));
}

void cli_json_list(json_t *object, const char *field, const char *const *items, size_t count)
{
    json_t *list = json_array(), *exact = NULL;
    bool all = true;
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(items[i]);
        json_t *value = json_stringn(items[i], len);
        all = all && value;
        (void)json_array_append_new(list, value ? value : replaced(items[i], len));
    }
    cli_json_set(object, field, list);
    if (all)
        return;
    exact = json_array();
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(exact, hex(items[i], strlen(items[i])));
    set_hex(object, field, exact);
}

void cli_json_id(json_t *object, const char *field, const struct cairn_id *id, int is_short)
{
    char text[65], name[64];
    cairn_hex_encode(text, id->bytes, sizeof(id->bytes));
    cli_json_set(object, field, json_string(text));
    if (!is_short)
        return;
    text[CLI_SHORT_ID] = '\0';
    (void)snprintf(name, sizeof(name), "short_%s", field);
    cli_json_set(object, name, json_string(text));
}

void cli_json_time(json_t *object, const char *field, int64_t seconds, uint32_t nanoseconds)
{
    char text[CLI_TIME_TEXT];
    cli_format_rfc3339(text, seconds, nanoseconds);
    cli_json_set(object, field, json_string(text));
}

void cli_json_print_row(json_t *object)
{
    char *line = object ? json_dumps(object, DUMP_FLAGS) : NULL;
    if (line)
        cli_out("%s\n", line);
    else
        (void)fputs("{\"message_type\":\"exit_error\",\"code\":1,\"message\":\"out of memory\"}\n",
                    stderr);
    free(line);
    json_decref(object);
}

void cli_json_print(FILE *to, json_t *object)
{
    if (to == stdout) {
        cli_json_print_row(object);
        cli_out_flush();
        return;
    }
    char *line = object ? json_dumps(object, DUMP_FLAGS) : NULL;
    (void)fprintf(to, "%s\n", line ? line : "{\"message_type\":\"exit_error\",\"code\":1}");
    free(line);
    json_decref(object);
}
