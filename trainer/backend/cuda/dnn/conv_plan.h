/* Which of cuDNN's plans serves a convolution pass: candidates when an operator is queried, one
 * of them when it is bound. Passes of the same shape share the choice. */
#ifndef TRAINER_BACKEND_CUDA_DNN_CONV_PLAN_H
#define TRAINER_BACKEND_CUDA_DNN_CONV_PLAN_H

#include "trainer/backend/cuda/dnn/conv_choice.h"

/* The choice for this pass, made when it is new; owned by CUDA. No plan at all is an error. */
int conv_choice_get(struct cuda *cuda, enum dnn_pattern pattern, enum dtype type,
                    const struct dnn_conv *conv, struct conv_choice **ret, struct error *err);
/* Settles `chosen`: by the plan cache, by timing on OPERANDS if tuning was asked for, else the
 * heuristics' first. Timing writes over what OPERANDS says it may, and leaves zeros there. */
int conv_choice_settle(struct cuda *cuda, struct conv_choice *choice,
                       const struct conv_operands *operands, struct error *err);
void conv_choices_done(struct convs *convs);

#endif
