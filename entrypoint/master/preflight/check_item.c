#include "entrypoint/master/preflight/check_item.h"

#include "common/json/json.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *check_status_name(enum check_status status) {
    static const char *const names[CHECK_STATUSES] = {"ok", "warning", "bad"};
    return names[status];
}

int64_t check_number(const json_t *host, const char *part, const char *key) {
    const json_t *object = part != NULL ? json_object_get(host, part) : host;
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? json_integer_value(value) : -1;
}

const char *check_text(const json_t *host, const char *part, const char *key) {
    const json_t *object = part != NULL ? json_object_get(host, part) : host;
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

void check_add(json_t *rows, enum check_status status, const char *item, const char *value,
               json_t *hosts, const char *advice, enum exit_code code) {
    (void)json_array_append_new(
        rows, json_pack("{s:s, s:s, s:o, s:o, s:o, s:i}", "status", check_status_name(status),
                        "item", item, "value", json_string_any(value), "hosts", hosts, "advice",
                        json_string_any(advice), "code", status == CHECK_BAD ? (int)code : 0));
}

void check_put(struct check_finding *f, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(f->value, sizeof(f->value), format, arguments);
    va_end(arguments);
}

void check_warn(struct check_finding *f, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(f->advice, sizeof(f->advice), format, arguments);
    va_end(arguments);
    f->status = CHECK_WARNING;
}

void check_fail(struct check_finding *f, enum exit_code code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(f->advice, sizeof(f->advice), format, arguments);
    va_end(arguments);
    f->status = CHECK_BAD;
    f->code = code;
}

/* Returns the row from FIRST on with the same text, or NULL. */
static json_t *find_alike(json_t *rows, size_t first, const struct check_finding *f) {
    for (size_t i = first; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);
        if (strcmp(check_text(row, NULL, "value"), f->value) == 0 &&
            strcmp(check_text(row, NULL, "advice"), f->advice) == 0 &&
            strcmp(check_text(row, NULL, "status"), check_status_name(f->status)) == 0)
            return row;
    }
    return NULL;
}

static bool has_part(const json_t *host, const char *part) {
    return part == NULL || json_is_object(json_object_get(host, part));
}

void check_item_add(const struct check_item *item, const json_t *hosts, json_t *rows) {
    size_t first = json_array_size(rows);
    const json_t *master = json_array_get(hosts, 0);
    for (size_t i = 0; i < json_array_size(hosts); i++) {
        const json_t *host = json_array_get(hosts, i);
        struct check_finding f = {.status = CHECK_OK};
        if (!has_part(host, item->wants[0]) || !has_part(host, item->wants[1]))
            continue;
        item->look(host, master, &f);
        if (f.value[0] == '\0')
            continue;
        json_t *row = find_alike(rows, first, &f);
        json_t *name = json_string(check_text(host, NULL, "name"));
        if (row != NULL)
            (void)json_array_append_new(json_object_get(row, "hosts"), name);
        else
            check_add(rows, f.status, item->name, f.value, json_pack("[o]", name), f.advice,
                      f.code);
    }
}
