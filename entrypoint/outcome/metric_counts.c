#include "entrypoint/outcome/metric_counts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(METRIC_DEFINITIONS_MAX <= 64, "each has a bit");

static void add(struct metric_counts *c, const char *name, const char *regex,
                struct warnings *warnings) {
    struct error err = {0};
    struct metric_count *item = &c->items[c->count++];
    (void)snprintf(item->name, sizeof(item->name), "%s", name);
    if (regex_compile(regex, &item->regex, &err) == 0)
        return;
    item->left_out = true;
    warnings_add(warnings, "metric %.64s is not counted: its regular expression is invalid: %.192s",
                 name, err.text);
}

void metric_counts_open(struct metric_counts *c, const struct metric_definitions *list,
                        struct warnings *warnings) {
    size_t count = 0;
    const struct metric_definition *ours = metric_line_definitions(&count);
    *c = (struct metric_counts){.now = clock_now, .asked = list->count > 0};
    c->items = calloc(METRIC_DEFINITIONS_MAX, sizeof(c->items[0]));
    c->scratch = regex_scratch_new();
    if (c->items == NULL || c->scratch == NULL) {
        metric_counts_done(c);
        return;
    }
    for (size_t i = 0; i < list->count; i++)
        add(c, list->items[i].name, list->items[i].regex, warnings);
    for (size_t i = 0; !c->asked && i < count; i++)
        add(c, ours[i].name, ours[i].regex, warnings);
}

void metric_counts_done(struct metric_counts *c) {
    for (size_t i = 0; i < c->count; i++)
        regex_done(&c->items[i].regex);
    free(c->items);
    regex_scratch_free(c->scratch);
    *c = (struct metric_counts){0};
}

static bool has_time(struct metric_counts *c, int64_t now) {
    if (now - c->second >= CLOCK_SECOND) {
        c->second = now;
        c->spent = 0;
    }
    return c->spent < METRIC_COUNTS_SHARE;
}

static void look(struct metric_counts *c, size_t i, const char *line, size_t size,
                 uint64_t *ret_first, uint64_t *ret_left_out) {
    struct metric_count *item = &c->items[i];
    switch (regex_match(&item->regex, line, size, c->scratch)) {
    case REGEX_YES:
        if (item->matches++ == 0)
            *ret_first |= UINT64_C(1) << i;
        break;
    case REGEX_COSTLY:
        item->left_out = true;
        *ret_left_out |= UINT64_C(1) << i;
        break;
    case REGEX_NO:
        break;
    }
}

uint64_t metric_counts_line(struct metric_counts *c, const char *line, size_t size,
                            uint64_t *ret_left_out) {
    uint64_t first = 0;
    *ret_left_out = 0;
    if (c->count == 0)
        return 0;
    int64_t began = c->now();
    if (!has_time(c, began)) {
        c->unread++;
        return 0;
    }
    c->lines++;
    size -= size > 0 && line[size - 1] == '\n';
    size = size < METRIC_COUNTS_HEAD ? size : METRIC_COUNTS_HEAD;
    for (size_t i = 0; i < c->count; i++) {
        if (!c->items[i].left_out)
            look(c, i, line, size, &first, ret_left_out);
    }
    c->spent += c->now() - began;
    return first;
}

void metric_counts_elsewhere(struct metric_counts *c, const char *name) {
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->items[i].name, name) == 0)
            c->items[i].elsewhere = true;
}

bool metric_counts_any(const struct metric_counts *c) {
    return c->lines > 0;
}

static bool is_never(const struct metric_count *item) {
    return item->matches == 0 && !item->elsewhere && !item->left_out;
}

int metric_counts_never(const struct metric_counts *c, struct buf *ret, struct error *err) {
    for (size_t i = 0; i < c->count; i++)
        if (is_never(&c->items[i]) &&
            buf_printf(ret, err, "%s%s", ret->size > 0 ? ", " : "", c->items[i].name) != 0)
            return -1;
    return 0;
}

json_t *metric_counts_json(const struct metric_counts *c) {
    json_t *counts = json_object();
    for (size_t i = 0; i < c->count; i++)
        if (c->asked || c->items[i].matches > 0)
            (void)json_object_set_new(counts, c->items[i].name,
                                      json_integer((json_int_t)c->items[i].matches));
    return json_pack("{s:o, s:I, s:I}", "counts", counts, "lines", (json_int_t)c->lines, "unread",
                     (json_int_t)c->unread);
}
