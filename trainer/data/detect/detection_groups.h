/* A set's pictures by canvas: what the sampler needs so that each batch lies on one of them. */
#ifndef TRAINER_DATA_DETECT_DETECTION_GROUPS_H
#define TRAINER_DATA_DETECT_DETECTION_GROUPS_H

#include "common/error.h"
#include "trainer/data/detect/bucket_plan.h"
#include "trainer/data/detect/detect_size.h"
#include "trainer/data/detect/detection_sample.h"
#include "trainer/data/detect/detection_set.h"

#include <stddef.h>
#include <stdint.h>

/* Canvases for the pictures of a set that is learnt from, and of one that is scored on, scaled to
 * the largest size they are drawn with; NULL for none, not for both. */
int detection_set_plan(const struct detection_set *learnt, const struct detection_set *scored,
                       const struct detect_sizes *sizes, size_t global_batch,
                       struct bucket_plan *ret, struct error *err);

/* Where sizes are drawn: adds to a plan for them canvases for the pictures of SET that are drawn in
 * the smaller half (bucket_plan_add_smaller). */
int detection_set_plan_drawn(const struct detection_set *set, const struct detection_recipe *recipe,
                             size_t global_batch, struct bucket_plan *plan, struct error *err);

struct detection_groups {
    uint32_t *samples; /* owned; those of canvas 0, then those of canvas 1..., ascending each */
    size_t sizes[CANVASES_MAX];
    int count; /* canvases */
};

void detection_groups_done(struct detection_groups *groups);

/* A picture that no canvas holds is an error that names its id. */
int detection_groups_make(struct detection_groups *ret, const struct detection_set *set,
                          const struct detect_sizes *sizes, const struct bucket_plan *plan,
                          struct error *err);

/* Where sizes are drawn: which canvas a picture takes in an epoch (sampler_groups.choose). All of
 * it borrowed. */
struct detection_choice {
    const struct detection_set *set;
    const struct detection_recipe *recipe;
    const struct bucket_plan *plan;
};

/* CHOICE is a struct detection_choice. */
int detection_choose_canvas(const void *choice, uint32_t epoch, uint32_t sample);

#define cleanup_detection_groups __attribute__((cleanup(detection_groups_done)))

#endif
