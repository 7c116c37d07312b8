/* Optimizers over slices of the store's arenas: math/optimizer.h for each element, on the compute
 * threads, and the table of them. Results do not depend on the number of threads. */
#ifndef TRAINER_OPTIM_OPTIMIZER_H
#define TRAINER_OPTIM_OPTIMIZER_H

#include "trainer/math/optimizer.h"

#include <stdbool.h>
#include <stddef.h>

/* What an optimizer is called and keeps. */
struct optimizer_row {
    const char *name;
    bool keeps_momentum, keeps_second;
    float epsilon; /* the default; 0: it has none */
};
/* Returns the row of KIND. */
const struct optimizer_row *optimizer_row(enum optimizer_kind kind);

/* Updates WEIGHT and the STATE of COUNT elements by one step along -GRADIENT. */
void optimizer_apply(const struct optimizer_step *step, float *weight, struct optimizer_state state,
                     const float *gradient, size_t count);

/* The arenas that an update reads and writes, from their first element on. */
struct optimizer_arenas {
    float *weights;
    const float *gradients;
    struct optimizer_state state;
};
/* Updates COUNT parameters from element FIRST on by one step as GROUP has it; they are one tensor
 * if the group adapts. */
void optimizer_update_slice(const struct optimizer_step *step, const struct optimizer_group *group,
                            const struct optimizer_arenas *arenas, size_t first, size_t count);

/* Returns the factor of a tensor of COUNT elements (optimizer_factor). */
float optimizer_tensor_factor(const struct optimizer_step *step, const float *weight,
                              const float *gradient, size_t count);

/* Returns the sum of squares of what that factor measures (optimizer_measured), in double. */
double optimizer_measured_sum(const struct optimizer_step *step, const float *weight,
                              const float *gradient, size_t count);
/* Returns STATE from element FIRST on. */
struct optimizer_state optimizer_state_at(struct optimizer_state state, size_t first);

/* TO[i] += FROM[i]: gradients of micro-batches. */
void optimizer_accumulate(float *to, const float *from, size_t count);

/* Divides each of VALUES: the mean of ranks. */
void optimizer_divide(float *values, float by, size_t count);

/* Returns true if each of VALUES is finite. */
bool optimizer_finite(const float *values, size_t count);

/* Returns the sum of squares, in double: the weight decay term of the objective is half of it
 * times the decay. */
double optimizer_square_sum(const float *weight, size_t count);

#endif
