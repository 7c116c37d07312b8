/* Rectified linear unit (ReLU): 0 for values of 0 or less, all others unchanged. NaN is not less
 * than 0 and stays NaN, so that a diverged network is noticed; its gradient passes as well. */
#ifndef TRAINER_MATH_RELU_H
#define TRAINER_MATH_RELU_H

#include "trainer/math/kernel.h"

#include <stdbool.h>

KERNEL double relu(double x) {
    return x <= 0 ? 0 : x;
}

KERNEL float relu_float(float x) {
    return x <= 0 ? 0 : x;
}

/* Returns true if the gradient passes; X is the input or the output of the ReLU. */
KERNEL bool relu_passes(double x) {
    return !(x <= 0);
}

KERNEL bool relu_passes_float(float x) {
    return !(x <= 0);
}

#endif
