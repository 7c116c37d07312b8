/* Autotuning of cuDNN's convolution plans: finds the fastest plan of a convolution pass on this
 * device by timing all of them. */
#ifndef TRAINER_BACKEND_CUDA_DNN_CONV_TUNE_H
#define TRAINER_BACKEND_CUDA_DNN_CONV_TUNE_H

#include "trainer/backend/cuda/dnn/conv_choice.h"

/* Sets choice->chosen to the plan with the least time, and RET_MS to its milliseconds per run.
 * Plans run on random numbers (products of zeros draw less power and run at a higher clock) and
 * with cold caches, as within a step. A plan that finalized but does not run is skipped; if none
 * runs, that is an error. */
int conv_tune(struct cuda *cuda, struct conv_choice *choice, const struct conv_operands *operands,
              float *ret_ms, struct error *err);

#endif
