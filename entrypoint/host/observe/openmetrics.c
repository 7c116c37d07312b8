#include "entrypoint/host/observe/openmetrics.h"

#include "common/table.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_SIZE = 4096, PREFIX_SIZE = 32 };

static struct gauge *find(struct openmetrics *g, const char *name) {
    for (size_t i = 0; i < g->count; i++)
        if (strcmp(g->items[i].name, name) == 0)
            return &g->items[i];
    if (g->count == OPENMETRICS_MAX)
        return NULL;
    struct gauge *added = &g->items[g->count++];
    (void)snprintf(added->name, sizeof(added->name), "%s", name);
    return added;
}

/* Returns true for letters, digits and '_', which a metric's name may contain. */
static bool is_name(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_')
            return false;
    return size > 0;
}

/* Takes WORD if it is exactly NAME=NUMBER. */
static void take_word(struct openmetrics *g, const char *kind, const char *word) {
    char name[GAUGE_NAME_SIZE];
    char *end = NULL;
    const char *equals = strchr(word, '=');
    if (equals == NULL || !is_name(word, (size_t)(equals - word)) || equals[1] == '\0' ||
        isspace((unsigned char)equals[1]))
        return;
    double value = strtod(equals + 1, &end);
    int size = snprintf(name, sizeof(name), "%s_%.*s", kind, (int)(equals - word), word);
    if (*end != '\0' || size < 0 || (size_t)size >= sizeof(name))
        return;
    struct gauge *gauge = find(g, name);
    if (gauge != NULL)
        gauge->value = value;
}

void openmetrics_line(struct openmetrics *g, const char *line, size_t size) {
    static const char *const kinds[] = {"train", "eval"};
    char text[LINE_MAX_SIZE];
    char *rest = NULL;
    if (size == 0 || size >= sizeof(text) || (line[0] != 't' && line[0] != 'e'))
        return;
    memcpy(text, line, size);
    text[size] = '\0';
    text[strcspn(text, "\n")] = '\0';
    const char *kind = strtok_r(text, " ", &rest);
    if (kind == NULL || TABLE_INDEX(kinds, kind) == TABLE_COUNT(kinds))
        return;
    for (const char *word; (word = strtok_r(NULL, " ", &rest)) != NULL;)
        take_word(g, kind, word);
}

static int add_number(struct buf *ret, double value, struct error *err) {
    if (isnan(value))
        return buf_add_text(ret, "NaN", err);
    if (isinf(value))
        return buf_add_text(ret, value > 0 ? "+Inf" : "-Inf", err);
    return buf_printf(ret, err, "%.17g", value);
}

int openmetrics_sample(struct buf *ret, const char *name, const char *help, const char *labels,
                       double value, struct error *err) {
    if (help != NULL &&
        buf_printf(ret, err, "# TYPE %s gauge\n# HELP %s %s\n", name, name, help) != 0)
        return -1;
    bool labelled = labels[0] != '\0';
    if (buf_printf(ret, err, "%s%s%s%s ", name, labelled ? "{" : "", labels, labelled ? "}" : "") !=
            0 ||
        add_number(ret, value, err) != 0)
        return -1;
    return buf_add(ret, "\n", 1, err);
}

int openmetrics_print(const struct openmetrics *g, struct buf *ret, struct error *err) {
    for (size_t i = 0; i < g->count; i++) {
        char name[GAUGE_NAME_SIZE + PREFIX_SIZE];
        (void)snprintf(name, sizeof(name), "ringmaster_%s", g->items[i].name);
        if (openmetrics_sample(ret, name, "of the newest metric line", "", g->items[i].value,
                               err) != 0)
            return -1;
    }
    return 0;
}
