/* What is not finite is told, and not given to anybody as a result. */
#ifndef TRAINER_APP_WEIGHTS_NAN_CHECK_H
#define TRAINER_APP_WEIGHTS_NAN_CHECK_H

#include "common/error.h"
#include "trainer/app/task/evaluation.h"
#include "trainer/app/weights/weights.h"

/* EXIT_CODE_CONFIG with the first tensor's name and how many values of it are NaN or infinite,
 * where any of W, in host memory and F32, is. */
int nan_check_weights(const struct weights *w, struct error *err);

/* EXIT_CODE_DATA where a figure of E is not finite: WHAT, a model, gives such results. */
int nan_check_evaluation(const struct evaluation *e, const char *what, struct error *err);

#endif
