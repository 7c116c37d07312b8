/* Most probable classes of a picture, from a network's logits.
 *
 * Probabilities are a softmax in f64 over all classes; the best class is first. */
#ifndef TRAINER_EVAL_TOP_CLASSES_H
#define TRAINER_EVAL_TOP_CLASSES_H

#include "common/json/json.h"

#include <stddef.h>

struct top_class {
    size_t class;
    double probability; /* not finite if the logits are not */
};

/* Finds the MOST best of CLASSES, among equals the first, in BEST, which has MOST + 1 places.
 * Returns their number. */
size_t top_classes_find(const float *logits, size_t classes, size_t most, struct top_class *best);

/* Returns [{"name": NAMES[i], "index": i, "probability": P}, ...]; a probability that is not finite
 * is null. */
json_t *top_classes_json(char *const *names, const struct top_class *best, size_t count);

#endif
