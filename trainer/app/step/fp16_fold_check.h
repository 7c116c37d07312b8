/* Whether f16 holds what frozen norms make of the weights in front of them. */
#ifndef TRAINER_APP_STEP_FP16_FOLD_CHECK_H
#define TRAINER_APP_STEP_FP16_FOLD_CHECK_H

#include "common/error.h"
#include "trainer/app/step/network.h"

/* Of a network in f16 whose weights were just loaded or started, on the host: EXIT_CODE_DATA with
 * the norm and the channel where a weight or the bias of a convolution with a frozen norm folded
 * into it is beyond f16's largest number (a variance of nearly nothing makes such scales). Other
 * types hold them. */
int fp16_fold_check(struct network *net, struct error *err);

#endif
