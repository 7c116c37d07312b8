/* A set's pictures by canvas: what the sampler needs so that each batch lies on one of them. */
#ifndef DETECT_DETECTION_GROUPS_H
#define DETECT_DETECTION_GROUPS_H

#include "common/error.h"
#include "detect/canvas_plan.h"
#include "detect/detect_size.h"
#include "detect/detection_set.h"

#include <stddef.h>
#include <stdint.h>

/* Canvases for the pictures of a set that is learnt from, and of one that is scored on, scaled to
 * the largest size they are drawn with; NULL for none, not for both. */
int detection_set_plan(const struct detection_set *learnt, const struct detection_set *scored,
                       const struct detect_sizes *sizes, size_t global_batch,
                       struct canvas_plan *ret, struct error *err);

struct detection_groups {
    uint32_t *samples; /* owned; those of canvas 0, then those of canvas 1..., ascending each */
    size_t sizes[CANVASES_MAX];
    int count; /* canvases */
};

void detection_groups_done(struct detection_groups *groups);

/* A picture that no canvas holds is an error that names its id. */
int detection_groups_make(struct detection_groups *ret, const struct detection_set *set,
                          const struct detect_sizes *sizes, const struct canvas_plan *plan,
                          struct error *err);

#define cleanup_detection_groups __attribute__((cleanup(detection_groups_done)))

#endif
