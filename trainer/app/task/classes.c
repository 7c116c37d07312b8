#include "task/classes.h"

#include <string.h>

int classes_agree(const struct classes *a, const struct classes *b, struct error *err) {
    for (size_t i = 0; i < a->count && i < b->count; i++)
        if (strcmp(a->names[i], b->names[i]) != 0)
            return error_set(err, EXIT_CODE_DATA, "class %zu is '%s' in %s and '%s' in %s", i,
                             a->names[i], a->where, b->names[i], b->where);
    if (a->count != b->count)
        return error_set(err, EXIT_CODE_DATA, "%s has %zu classes, %s has %zu", a->where, a->count,
                         b->where, b->count);
    return 0;
}
