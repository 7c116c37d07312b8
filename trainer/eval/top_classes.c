#include "trainer/eval/top_classes.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Orders classes by their logits; NaN comes last. */
static bool goes_before(const float *logits, size_t a, size_t b) {
    if (isnan(logits[a]) || isnan(logits[b]))
        return !isnan(logits[a]);
    return logits[a] > logits[b];
}

size_t top_classes_find(const float *logits, size_t classes, size_t most, struct top_class *best) {
    double sum = 0;
    size_t count = 0;
    for (size_t c = 0; c < classes; c++) {
        size_t at = count;
        while (at > 0 && goes_before(logits, c, best[at - 1].class))
            at--;
        if (at == most)
            continue;
        count += count < most;
        memmove(best + at + 1, best + at, (count - 1 - at) * sizeof(*best));
        best[at].class = c;
    }
    for (size_t c = 0; c < classes && count > 0; c++)
        sum += exp((double)logits[c] - (double)logits[best[0].class]);
    for (size_t i = 0; i < count; i++)
        best[i].probability =
            exp((double)logits[best[i].class] - (double)logits[best[0].class]) / sum;
    return count;
}

json_t *top_classes_json(char *const *names, const struct top_class *best, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        double p = best[i].probability;
        (void)json_array_append_new(list, json_pack("{s:o, s:I, s:o}", "name",
                                                    json_string_any(names[best[i].class]), "index",
                                                    (json_int_t)best[i].class, "probability",
                                                    isfinite(p) ? json_real(p) : json_null()));
    }
    return list;
}
