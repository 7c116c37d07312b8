#include "trainer/app/task/classes.h"

#include "common/cleanup.h"
#include "common/log/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED = 5 };

struct numbered {
    const char *name;
    int32_t number;
};

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct numbered *)a)->name, ((const struct numbered *)b)->name);
}

/* Numbers sorted by class name; owned by the caller. */
static struct numbered *number(const struct classes *classes) {
    struct numbered *list = calloc(classes->count + 1, sizeof(*list));
    for (size_t i = 0; list != NULL && i < classes->count; i++)
        list[i] = (struct numbered){classes->names[i], (int32_t)i};
    if (list != NULL)
        qsort(list, classes->count, sizeof(*list), by_name);
    return list;
}

static const struct numbered *find(const struct numbered *list, size_t count, const char *name) {
    const struct numbered wanted = {.name = name};
    return bsearch(&wanted, list, count, sizeof(*list), by_name);
}

int classes_map(const struct classes *set, const struct classes *all, int32_t *map,
                struct error *err) {
    cleanup_free struct numbered *list = number(all);
    if (list == NULL)
        return error_no_memory(err, "names of classes");
    for (size_t i = 0; i < set->count; i++) {
        const struct numbered *found = find(list, all->count, set->names[i]);
        if (found == NULL)
            return error_set(err, EXIT_CODE_DATA,
                             "class '%s' of %s is not a class of %s, which has %zu ('%s'%s)",
                             set->names[i], set->where, all->where, all->count,
                             all->count > 0 ? all->names[0] : "", all->count > 1 ? ", ..." : "");
        map[i] = found->number;
    }
    return 0;
}

size_t classes_missing(const struct classes *set, const struct classes *all, char *text,
                       size_t size) {
    cleanup_free struct numbered *list = number(set);
    size_t missing = 0, used = 0;
    text[0] = '\0';
    for (size_t i = 0; list != NULL && i < all->count; i++) {
        if (find(list, set->count, all->names[i]) != NULL)
            continue;
        if (missing++ < NAMED && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s'%.64s'", used > 0 ? ", " : "",
                                     all->names[i]);
    }
    if (missing > NAMED && used < size)
        (void)snprintf(text + used, size - used, ", ...");
    return missing;
}

int classes_place(struct dataset *set, const char *where, const struct classes *all, bool aloud,
                  struct error *err) {
    const struct classes own = {set->class_names, set->classes, where};
    cleanup_free int32_t *map = calloc(set->classes + 1, sizeof(*map));
    char names[512];
    if (map == NULL)
        return error_no_memory(err, "classes");
    if (classes_map(&own, all, map, err) != 0)
        return -1;
    size_t missing = classes_missing(&own, all, names, sizeof(names));
    if (missing > 0 && aloud)
        log_warning("%s: no pictures of %zu of the %zu classes: %s", where, missing, all->count,
                    names);
    return dataset_place_classes(set, all->names, all->count, map, err);
}
