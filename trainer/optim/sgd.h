/* SGD with momentum over slices of the store's arenas: math/sgd.h for each element, on the compute
 * threads. Results do not depend on the number of threads. */
#ifndef TRAINER_OPTIM_SGD_H
#define TRAINER_OPTIM_SGD_H

#include "trainer/math/sgd.h"

#include <stdbool.h>
#include <stddef.h>

/* Updates WEIGHT and MOMENTUM of COUNT elements by one step along -GRADIENT. */
void sgd_apply(const struct sgd_step *step, float *weight, float *momentum, const float *gradient,
               size_t count);

/* TO[i] += FROM[i]: gradients of micro-batches. */
void sgd_accumulate(float *to, const float *from, size_t count);

/* Returns true if each of VALUES is finite. */
bool sgd_finite(const float *values, size_t count);

/* Returns the sum of squares, in double: the weight decay term of the objective is half of it
 * times the decay. */
double sgd_square_sum(const float *weight, size_t count);

#endif
