/* Elementwise functions, one line each, for all backends: the reference computes them in double,
 * the CPU's loops and the GPU's kernels in float. The list also defines the operators
 * (graph/ops_dense.def), so one line here adds a whole operator with its gradient.
 *
 * POINTWISE_FUNCTIONS: y as a function of x, here `a`; and its gradient as a function of dy, here
 * `a`, and y, here `b`. POINTWISE adds functions of two tensors, with other operators as gradients,
 * and takes the number of tensors that a body reads. EXP is exp or expf. NaN is preserved
 * (math/relu.h). */
#ifndef TRAINER_MATH_POINTWISE_H
#define TRAINER_MATH_POINTWISE_H

#include "trainer/math/kernel.h"

#include <math.h>

#define POINTWISE_FUNCTIONS(F, G)                                                                  \
    F(G, RELU, relu, a <= 0 ? 0 : a, b <= 0 ? 0 : a)                                               \
    F(G, SIGMOID, sigmoid, 1 / (1 + EXP(-a)), a * (b * (1 - b)))

#define POINTWISE_WITH_GRADIENT(G, kind, name, value, gradient)                                    \
    G(kind, name, 1, value) G(kind##_GRAD, name##_grad, 2, gradient)

#define POINTWISE(G)                                                                               \
    POINTWISE_FUNCTIONS(POINTWISE_WITH_GRADIENT, G)                                                \
    G(ADD, add, 2, a + b)                                                                          \
    G(ADD_RELU, add_relu, 2, a + b <= 0 ? 0 : a + b)

enum pointwise {
#define POINTWISE_NAME(kind, ...) POINTWISE_##kind,
    POINTWISE(POINTWISE_NAME) POINTWISE_KINDS
};

#define POINTWISE_DOUBLE(kind, name, tensors, value)                                               \
    KERNEL double pointwise_##name(double a, double b) {                                           \
        (void)b;                                                                                   \
        return value;                                                                              \
    }
#define EXP exp
POINTWISE(POINTWISE_DOUBLE)
#undef EXP

#define POINTWISE_FLOAT(kind, name, tensors, value)                                                \
    KERNEL float pointwise_##name##_float(float a, float b) {                                      \
        (void)b;                                                                                   \
        return value;                                                                              \
    }
#define EXP expf
POINTWISE(POINTWISE_FLOAT)
#undef EXP

#endif
