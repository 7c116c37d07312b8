#include "trainer/data/prepare/alike_names.h"

#include "common/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A name, of which only those of the same class are compared. */
struct named {
    const char *name;
    int32_t label;
};

static int compare_case(const struct named *a, const struct named *b) {
    if (a->label != b->label)
        return a->label < b->label ? -1 : 1;
    return strcasecmp(a->name, b->name);
}

static int compare(const void *first, const void *second) {
    const struct named *a = first;
    const struct named *b = second;
    const int order = compare_case(a, b);
    return order != 0 ? order : strcmp(a->name, b->name);
}

/* NAMES are sorted on the way. */
static void find(struct named *names, size_t count, struct alike_names *ret) {
    *ret = (struct alike_names){0};
    qsort(names, count, sizeof(*names), compare);
    for (size_t i = 1; i < count; i++) {
        if (compare_case(&names[i - 1], &names[i]) != 0 ||
            strcmp(names[i - 1].name, names[i].name) == 0)
            continue;
        if (ret->count++ > 0)
            continue;
        (void)snprintf(ret->first, sizeof(ret->first), "%s", names[i - 1].name);
        (void)snprintf(ret->second, sizeof(ret->second), "%s", names[i].name);
    }
}

int alike_names_of_classes(const struct dataset *set, struct alike_names *ret, struct error *err) {
    cleanup_free struct named *names = calloc(set->classes + 1, sizeof(*names));
    if (names == NULL)
        return error_no_memory(err, "names of classes");
    for (size_t c = 0; c < set->classes; c++)
        names[c].name = set->class_names[c];
    find(names, set->classes, ret);
    return 0;
}

int alike_names_of_pictures(const struct dataset *set, struct alike_names *ret, struct error *err) {
    cleanup_free struct named *names = calloc(set->count + 1, sizeof(*names));
    if (names == NULL)
        return error_no_memory(err, "names of pictures");
    for (size_t i = 0; i < set->count; i++)
        names[i] = (struct named){set->names + set->name_at[i], set->labels[i]};
    find(names, set->count, ret);
    return 0;
}
