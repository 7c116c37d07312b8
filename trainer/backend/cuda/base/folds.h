/* Folds of weights (launch_fold), as many in one launch as it takes: a network with frozen norms
 * has one for nearly every convolution, and each alone is shorter than what a launch costs. */
#ifndef TRAINER_BACKEND_CUDA_BASE_FOLDS_H
#define TRAINER_BACKEND_CUDA_BASE_FOLDS_H

#include "trainer/backend/cuda/base/context.h"

/* Puts a fold off until folds_launch, or until a launch is full; ARGS is copied. */
int folds_add(struct cuda *cuda, enum dtype type, const struct fold_args *args, struct error *err);
/* Enqueues what was put off on the selected stream. */
int folds_launch(struct cuda *cuda, struct error *err);

#endif
