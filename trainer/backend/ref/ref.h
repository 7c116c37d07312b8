/* The reference backend: the meaning of every operator in plain loops. An operator's inputs are
 * widened to double, its body computes in double, its outputs are rounded once to their type (f32,
 * bf16 and f16 to nearest even, f64 as they are). Weights of convolutions and linear layers are
 * rounded to the activation type first, as faster backends use them. It has every operator, fused
 * ones included, in f32, bf16, f16 and f64; slow, single-threaded, host memory. */
#ifndef TRAINER_BACKEND_REF_REF_H
#define TRAINER_BACKEND_REF_REF_H

#include "common/error.h"
#include "trainer/graph/backend.h"

int ref_open(struct backend **ret_backend, struct error *err);

#endif
