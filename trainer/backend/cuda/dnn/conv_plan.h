/* Choice of a cuDNN plan for a convolution pass: candidates when an operator is queried, one of
 * them when it is bound. Passes of the same shape share the choice. */
#ifndef TRAINER_BACKEND_CUDA_DNN_CONV_PLAN_H
#define TRAINER_BACKEND_CUDA_DNN_CONV_PLAN_H

#include "trainer/backend/cuda/dnn/conv_choice.h"

/* Returns the choice for this pass, creating it if it is new; owned by CUDA. Fails if there is no
 * plan at all. */
int conv_choice_get(struct cuda *cuda, enum dnn_pattern pattern, enum dtype type,
                    const struct dnn_conv *conv, struct conv_choice **ret, struct error *err);
/* Sets `chosen`: from the plan cache, else by timing on OPERANDS if tuning is requested, else the
 * heuristics' first. Timing overwrites what OPERANDS allows, and leaves zeros there. */
int conv_choice_settle(struct cuda *cuda, struct conv_choice *choice,
                       const struct conv_operands *operands, struct error *err);
void conv_choices_done(struct convs *convs);

#endif
