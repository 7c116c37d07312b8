#include "entrypoint/job/sagemaker/metric_definitions.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/file/file_look.h"
#include "common/json/json.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void add(struct metric_definitions *l, const char *name, const json_t *regex) {
    const char *text = json_string_value(regex);
    size_t size = json_string_length(regex);
    if (name == NULL || name[0] == '\0' || text == NULL || size == 0 || size >= METRIC_REGEX_SIZE ||
        l->count == METRIC_DEFINITIONS_MAX) {
        l->passed_over++;
        return;
    }
    struct requested_metric *item = &l->items[l->count++];
    (void)snprintf(item->name, sizeof(item->name), "%s", name);
    (void)snprintf(item->regex, sizeof(item->regex), "%s", text);
    for (char *c = item->name; *c != '\0'; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

/* The member NAME, ignoring case. */
static const json_t *member(const json_t *object, const char *name) {
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        if (strcasecmp(key, name) == 0)
            return value;
    }
    return NULL;
}

static void add_list(struct metric_definitions *l, const json_t *list) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        add(l, json_string_value(member(item, "name")), member(item, "regex"));
    }
}

static void add_object(struct metric_definitions *l, const json_t *object) {
    const char *key = NULL;
    json_t *value = NULL;
    const json_t *list = member(object, "MetricDefinitions");
    if (list != NULL) {
        add_list(l, list);
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        add(l, key, value);
    }
}

int metric_definitions_parse(const char *text, size_t size, const char *source,
                             struct metric_definitions *ret, struct error *err) {
    cleanup_json json_t *root = NULL;
    *ret = (struct metric_definitions){0};
    if (json_parse(text, size, source, &root, err) != 0)
        return -1;
    ret->items = calloc(METRIC_DEFINITIONS_MAX, sizeof(ret->items[0]));
    if (ret->items == NULL)
        return error_no_memory(err, "metric definitions");
    if (json_is_array(root))
        add_list(ret, root);
    else
        add_object(ret, root);
    return 0;
}

int metric_definitions_read(const char *path, struct metric_definitions *ret, struct error *err) {
    cleanup_buf struct buf text;
    buf_init(&text, JSON_FILE_MAX);
    *ret = (struct metric_definitions){0};
    bool there = false;
    if (file_look(path, NULL, &there, err) != 0)
        return -1;
    if (!there)
        return 0;
    return file_read(path, &text, err) == 0
               ? metric_definitions_parse(buf_text(&text), text.size, path, ret, err)
               : -1;
}

void metric_definitions_done(struct metric_definitions *l) {
    free(l->items);
    *l = (struct metric_definitions){0};
}
