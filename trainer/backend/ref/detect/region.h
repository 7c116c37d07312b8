/* Access to geometry and numbers of regions. They are f32 and i32 in every mode and convert to
 * doubles without loss; private to this folder. */
#ifndef TRAINER_BACKEND_REF_DETECT_REGION_H
#define TRAINER_BACKEND_REF_DETECT_REGION_H

#include <stdint.h>

/* Returns box NUMBER of an array. */
static inline void ref_box(const double *boxes, int64_t number, float ret[4]) {
    for (int i = 0; i < 4; i++)
        ret[i] = (float)boxes[4 * number + i];
}

static inline void ref_set_box(double *boxes, int64_t number, const float box[4]) {
    for (int i = 0; i < 4; i++)
        boxes[4 * number + i] = (double)box[i];
}

/* Copies COUNT integers from FROM; COUNT must be small. */
static inline void ref_ints(const double *from, int count, int32_t *ret) {
    for (int i = 0; i < count; i++)
        ret[i] = (int32_t)from[i];
}

#endif
