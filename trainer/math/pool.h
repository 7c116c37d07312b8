/* Order of values in a max pool: NaN ranks before every number, so that a NaN input is preserved;
 * of equal values the first is taken. */
#ifndef TRAINER_MATH_POOL_H
#define TRAINER_MATH_POOL_H

#include "trainer/math/kernel.h"

#include <stdbool.h>

/* Returns true if VALUE replaces BEST, which comes before it in the window. */
KERNEL bool pool_exceeds(double value, double best) {
    return !(value <= best) && best == best;
}

KERNEL bool pool_exceeds_float(float value, float best) {
    return !(value <= best) && best == best;
}

#endif
