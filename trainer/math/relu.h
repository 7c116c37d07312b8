/* The rectifier: 0 for what is 0 or less, and everything else as it is. NaN is not less than 0 and
 * stays NaN, so that a network that has broken down shows it; its gradient passes there, too. */
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

/* Whether the gradient passes; X is what went into the ReLU, or what came out of it. */
KERNEL bool relu_passes(double x) {
    return !(x <= 0);
}

KERNEL bool relu_passes_float(float x) {
    return !(x <= 0);
}

#endif
