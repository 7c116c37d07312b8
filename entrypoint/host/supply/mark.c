#include "entrypoint/host/supply/mark.h"

#include "common/str.h"

#include <string.h>

static void set_text(struct mark *m, const char *text, size_t size) {
    size_t kept = str_utf8_prefix(text, size, sizeof(m->text) - 1);
    memcpy(m->text, text, kept);
    m->text[kept] = '\0';
}

void mark_step(struct mark *m, const char *line, size_t size) {
    while (size > 0 && line[size - 1] == '\n')
        size--;
    m->count++;
    set_text(m, line, size);
}

void mark_put(const struct mark *m, json_t *message) {
    (void)json_object_set_new(message, "marks", json_integer((json_int_t)m->count));
    (void)json_object_set_new(message, "text", json_string(m->text));
}

void mark_parse(const json_t *message, struct mark *ret) {
    json_int_t count = json_integer_value(json_object_get(message, "marks"));
    const char *text = json_string_value(json_object_get(message, "text"));
    *ret = (struct mark){.count = count > 0 ? (uint64_t)count : 0};
    if (text != NULL)
        set_text(ret, text, strlen(text));
}
