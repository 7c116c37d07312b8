/* The order of values under a max pool: NaN comes before every number, so that one that goes in
 * comes out; among equals the first one counts. */
#ifndef TRAINER_MATH_POOL_H
#define TRAINER_MATH_POOL_H

#include "trainer/math/kernel.h"

#include <stdbool.h>

/* Whether VALUE takes the place of BEST, which stands before it in the window. */
KERNEL bool pool_exceeds(double value, double best) {
    return !(value <= best) && best == best;
}

KERNEL bool pool_exceeds_float(float value, float best) {
    return !(value <= best) && best == best;
}

#endif
