/* Whether a fused convolution is worth it on this device, found by timing it and its rival
 * (fusion_baseline.h) before anything is fused, and remembered in the plan cache. */
#ifndef TRAINER_BACKEND_CUDA_DNN_FUSION_AUTOTUNE_H
#define TRAINER_BACKEND_CUDA_DNN_FUSION_AUTOTUNE_H

#include "trainer/backend/cuda/dnn/conv_plan.h"

/* CHOICE is of a fused pass that has plans. What cannot be timed, for want of memory say, is fused.
 * Takes memory for the pass's tensors while it runs. */
bool fusion_autotune(struct cuda *cuda, struct conv_choice *choice);

#endif
