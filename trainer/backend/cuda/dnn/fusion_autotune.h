/* Autotuning of convolution fusion: finds out whether a fused convolution is faster on this device
 * by timing it and its baseline (fusion_baseline.h) before anything is fused. The plan cache
 * remembers the result. */
#ifndef TRAINER_BACKEND_CUDA_DNN_FUSION_AUTOTUNE_H
#define TRAINER_BACKEND_CUDA_DNN_FUSION_AUTOTUNE_H

#include "trainer/backend/cuda/dnn/conv_plan.h"

/* CHOICE is a fused pass that has plans. A pass that cannot be timed, for example for lack of
 * memory, is fused. Allocates the pass's tensors while it runs. */
bool fusion_autotune(struct cuda *cuda, struct conv_choice *choice);

#endif
