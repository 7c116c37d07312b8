/* Reference backend of the trainer: the semantics of every operator as plain loops. An operator's
 * inputs are converted to double, its body computes in double, and its outputs are rounded once to
 * their type (f32, bf16 and f16 to nearest even, f64 unchanged). Weights of convolutions and linear
 * layers are first rounded to the activation type, as faster backends use them. It has every
 * operator, including fused ones, in f32, bf16, f16 and f64. Slow, single-threaded, in host memory.
 */
#ifndef TRAINER_BACKEND_REF_REF_H
#define TRAINER_BACKEND_REF_REF_H

#include "common/error.h"
#include "trainer/graph/backend.h"

int ref_open(struct backend **ret_backend, struct error *err);

#endif
