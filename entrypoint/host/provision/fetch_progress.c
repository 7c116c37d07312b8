#include "entrypoint/host/provision/fetch_progress.h"

#include "common/str.h"

#include <string.h>

static void set_text(struct fetch_progress *m, const char *text, size_t size) {
    size_t kept = str_utf8_prefix(text, size, sizeof(m->text) - 1);
    memcpy(m->text, text, kept);
    m->text[kept] = '\0';
}

void fetch_progress_step(struct fetch_progress *m, const char *line, size_t size) {
    while (size > 0 && line[size - 1] == '\n')
        size--;
    m->count++;
    set_text(m, line, size);
}

void fetch_progress_put(const struct fetch_progress *m, json_t *message) {
    (void)json_object_set_new(message, "marks", json_integer((json_int_t)m->count));
    (void)json_object_set_new(message, "text", json_string(m->text));
}

void fetch_progress_parse(const json_t *message, struct fetch_progress *ret) {
    json_int_t count = json_integer_value(json_object_get(message, "marks"));
    const char *text = json_string_value(json_object_get(message, "text"));
    *ret = (struct fetch_progress){.count = count > 0 ? (uint64_t)count : 0};
    if (text != NULL)
        set_text(ret, text, strlen(text));
}
