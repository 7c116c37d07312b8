/* Pictures of a set grouped by canvas.
 *
 * The sampler needs them so that each batch is on one canvas. */
#ifndef TRAINER_DATA_DETECT_DETECTION_GROUPS_H
#define TRAINER_DATA_DETECT_DETECTION_GROUPS_H

#include "common/error.h"
#include "trainer/data/detect/bucket_plan.h"
#include "trainer/data/detect/detect_size.h"
#include "trainer/data/detect/detection_sample.h"
#include "trainer/data/detect/detection_set.h"

#include <stddef.h>
#include <stdint.h>

/* Plans canvases for the pictures of a training set and of a validation set, scaled to their
 * largest size; one of the two may be NULL. */
int detection_set_plan(const struct detection_set *learnt, const struct detection_set *scored,
                       const struct detect_sizes *sizes, size_t global_batch,
                       struct bucket_plan *ret, struct error *err);

/* If sizes are random: adds canvases to a plan for the pictures of SET that are drawn in the
 * smaller half of the sizes (bucket_plan_add_smaller). */
int detection_set_plan_drawn(const struct detection_set *set, const struct detection_recipe *recipe,
                             size_t global_batch, struct bucket_plan *plan, struct error *err);

struct detection_groups {
    uint32_t *samples; /* owned; those of canvas 0, then those of canvas 1..., ascending within
                        * each */
    size_t sizes[CANVASES_MAX];
    int count; /* number of canvases */
};

void detection_groups_done(struct detection_groups *groups);

/* A picture that fits no canvas is an error that names its id. */
int detection_groups_make(struct detection_groups *ret, const struct detection_set *set,
                          const struct detect_sizes *sizes, const struct bucket_plan *plan,
                          struct error *err);

/* If sizes are random: chooses a picture's canvas in an epoch (sampler_groups.choose). All
 * borrowed. */
struct detection_choice {
    const struct detection_set *set;
    const struct detection_recipe *recipe;
    const struct bucket_plan *plan;
};

/* CHOICE is a struct detection_choice. */
int detection_choose_canvas(const void *choice, uint32_t epoch, uint32_t sample);

#define cleanup_detection_groups __attribute__((cleanup(detection_groups_done)))

#endif
