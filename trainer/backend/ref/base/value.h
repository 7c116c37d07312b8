/* Value conversion in the reference backend: every type as doubles, and back with one rounding.
 * Private to trainer/backend/ref. */
#ifndef TRAINER_BACKEND_REF_BASE_VALUE_H
#define TRAINER_BACKEND_REF_BASE_VALUE_H

#include "trainer/graph/tensor.h"

void ref_widen(double *to, const void *from, enum dtype type, size_t count);
void ref_narrow(void *to, const double *from, enum dtype type, size_t count);
/* Returns VALUE rounded as an activation of DTYPE. */
double ref_round(enum dtype dtype, double value);

#endif
