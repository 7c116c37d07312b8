#include "common/argv.h"
#include "common/grow.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void argv_done(struct argv *a) {
    for (size_t i = 0; i < a->count; i++)
        free(a->items[i]);
    free(a->items);
    *a = (struct argv){0};
}

/* Takes ownership of TEXT, also on failure. */
static int add_owned(struct argv *a, char *text, struct error *err) {
    if (text == NULL)
        return error_no_memory(err, "argument list");
    if (a->count == ARGV_MAX) {
        free(text);
        return error_set(err, EXIT_CODE_CONFIG, "more than %d arguments or environment variables",
                         ARGV_MAX);
    }
    if (grow_array(&a->items, &a->capacity, a->count + 2, sizeof(*a->items), "argument list",
                   err) != 0) {
        free(text);
        return -1;
    }
    a->items[a->count++] = text;
    a->items[a->count] = NULL;
    return 0;
}

int argv_add(struct argv *a, const char *text, struct error *err) {
    return add_owned(a, strdup(text), err);
}

int argv_printf(struct argv *a, struct error *err, const char *format, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    return add_owned(a, length < 0 ? NULL : text, err);
}

int argv_add_all(struct argv *a, const char *const *texts, struct error *err) {
    for (; *texts != NULL; texts++)
        if (argv_add(a, *texts, err) != 0)
            return -1;
    return 0;
}

/* The index of NAME=..., or `count` if there is none. */
static size_t find_env(const struct argv *a, const char *name) {
    size_t length = strlen(name);
    size_t i = 0;
    while (i < a->count && !(strncmp(a->items[i], name, length) == 0 && a->items[i][length] == '='))
        i++;
    return i;
}

int argv_set_env(struct argv *a, const char *name, const char *value, struct error *err) {
    size_t at = find_env(a, name);
    if (at == a->count)
        return argv_printf(a, err, "%s=%s", name, value);
    char *text = NULL;
    if (asprintf(&text, "%s=%s", name, value) < 0)
        return error_no_memory(err, "environment");
    free(a->items[at]);
    a->items[at] = text;
    return 0;
}

void argv_unset_env(struct argv *a, const char *name) {
    size_t at = find_env(a, name);
    if (at == a->count)
        return;
    free(a->items[at]);
    memmove(a->items + at, a->items + at + 1, (a->count - at) * sizeof(*a->items));
    a->count--;
}

const char *argv_get_env(const struct argv *a, const char *name) {
    size_t at = find_env(a, name);
    return at == a->count ? NULL : a->items[at] + strlen(name) + 1;
}

const char *env_get(char *const *environment, const char *name) {
    size_t size = strlen(name);
    for (; *environment != NULL; environment++)
        if (strncmp(*environment, name, size) == 0 && (*environment)[size] == '=')
            return *environment + size + 1;
    return NULL;
}
