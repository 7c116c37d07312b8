/* A JSON value as Python's str() shows it: True, None, 1e-05, [1, 'x']. SageMaker's toolkit hands
 * hyperparameters to programs in this form, and scripts are written for it. An object at the top
 * becomes k=v,k=v in byte order of the names, as the toolkit has it. (Python's language reference:
 * repr of float, str, list, dict.) */
#ifndef ENTRYPOINT_JOB_SAGEMAKER_PYTHON_REPR_H
#define ENTRYPOINT_JOB_SAGEMAKER_PYTHON_REPR_H

#include "common/buf.h"
#include "common/error.h"

#include <jansson.h>

/* Appends it. A text at the top is itself, without quotes; null is nothing. */
int python_repr_add(const json_t *value, struct buf *ret, struct error *err);

#endif
