/* Range check for frozen norms that are folded into f16 weights. */
#ifndef TRAINER_APP_STEP_FP16_FOLD_CHECK_H
#define TRAINER_APP_STEP_FP16_FOLD_CHECK_H

#include "common/error.h"
#include "trainer/app/step/network.h"

/* Call for a network in f16 right after its weights were loaded or initialized on the host. Fails
 * with EXIT_CODE_DATA and the norm and channel if folding a frozen norm makes a weight or bias
 * exceed f16's largest number; a variance near zero causes that. Other types always pass. */
int fp16_fold_check(struct network *net, struct error *err);

#endif
