/* Which plan of a convolution pass is the fastest on this device: all are timed. */
#ifndef TRAINER_BACKEND_CUDA_DNN_CONV_TUNE_H
#define TRAINER_BACKEND_CUDA_DNN_CONV_TUNE_H

#include "trainer/backend/cuda/dnn/conv_choice.h"

/* Sets choice->chosen to the plan with the least time, RET_MS milliseconds a run. Each plan runs on
 * numbers (products of zeros draw less power and run at a higher clock) and on cold caches, as
 * it does within a step. A plan that finalized but does not run is passed over; that none runs is
 * an error. */
int conv_tune(struct cuda *cuda, struct conv_choice *choice, const struct conv_operands *operands,
              float *ret_ms, struct error *err);

#endif
