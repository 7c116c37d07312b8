#include "trainer/app/weights/nan_check.h"

#include <inttypes.h>
#include <math.h>

static int64_t count_bad(const struct array *array) {
    int64_t bad = 0, count = array_count(array);
    const float *values = array->data;
    if (array->type != ARRAY_F32)
        return 0;
    for (int64_t i = 0; i < count; i++)
        bad += !isfinite(values[i]);
    return bad;
}

int nan_check_arrays(const struct array *arrays, size_t count, struct error *err) {
    const struct array *first = NULL;
    int64_t of_first = 0;
    size_t tensors = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t bad = count_bad(&arrays[i]);
        if (bad == 0)
            continue;
        if (tensors++ == 0) {
            first = &arrays[i];
            of_first = bad;
        }
    }
    if (first == NULL)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG,
                     "%s: %" PRId64 " of %" PRId64
                     " values are not finite, as in %zu of %zu tensors; try a lower --lr",
                     first->name, of_first, array_count(first), tensors, count);
}

int nan_check_weights(const struct weights *w, struct error *err) {
    return nan_check_arrays(w->arrays, w->count, err);
}

int nan_check_evaluation(const struct evaluation *e, const char *what, struct error *err) {
    for (int i = 0; i < e->count; i++) {
        const struct metric_field *figure = &e->figures[i];
        if (!isfinite(figure->value))
            return error_set(err, EXIT_CODE_DATA,
                             "%s gives a non-finite %s (%s) over %" PRId64
                             " images: its scores are meaningless",
                             what, figure->name, isnan(figure->value) ? "nan" : "inf", e->images);
    }
    return 0;
}
