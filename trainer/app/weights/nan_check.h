/* Rejection of NaN and infinity in weights and evaluation results. */
#ifndef TRAINER_APP_WEIGHTS_NAN_CHECK_H
#define TRAINER_APP_WEIGHTS_NAN_CHECK_H

#include "common/error.h"
#include "trainer/app/task/evaluation.h"
#include "trainer/app/weights/weights.h"

/* Fails with EXIT_CODE_CONFIG, the first tensor's name and the number of bad values if an F32 value
 * of ARRAYS, in host memory, is NaN or infinite. */
int nan_check_arrays(const struct array *arrays, size_t count, struct error *err);
/* The same for all arrays of W. */
int nan_check_weights(const struct weights *w, struct error *err);

/* Fails with EXIT_CODE_DATA if a metric of E is not finite. WHAT names the model in the message. */
int nan_check_evaluation(const struct evaluation *e, const char *what, struct error *err);

#endif
