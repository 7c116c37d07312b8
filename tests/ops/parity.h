/* A backend against the reference, over the whole table. The error of an operator is
 * max|a - ref| / max|ref| over each of its outputs. */
#ifndef TESTS_OPS_PARITY_H
#define TESTS_OPS_PARITY_H

#include "trainer/graph/backend.h"
#include "trainer/graph/op.h"
#include "trainer/graph/tensor.h"

/* max|a - ref| / max|ref| over the values of TENSOR. NaN and infinities have to stand in the same
 * places, and integers to be the same; else it is infinite. */
double parity_error(const struct tensor *tensor, const void *a, const void *ref);

/* Which operators of the table the backend must say it has with this type. ALL: those of its column
 * in ops.def and no others. All of these but fused ones are in it; of fused convolutions some may
 * be beyond its kernels, of those with a bias or a frozen norm not all. */
enum parity_scope { PARITY_ALL, PARITY_SOME };

/* Asserts (CUnit) for every row, with activations of DTYPE, that what BACKEND has is what SCOPE
 * says, and that it agrees. The environment variable OPS_ROWS limits the table to rows whose name
 * holds one of its words, which '|' keeps apart: for tools that slow a run down a hundredfold. */
void parity_check(struct backend *backend, enum dtype dtype, enum parity_scope scope);
/* The same of rows whose name holds WORDS, unless that is NULL. */
void parity_check_rows(struct backend *backend, enum dtype dtype, enum parity_scope scope,
                       const char *words);
/* The same of rows whose name holds WORDS, each operator held to BOUND in place of the row's own.
 */
void parity_check_bounded(struct backend *backend, enum dtype dtype, const char *words,
                          double (*bound)(enum op_kind kind));
/* The same of what BACKEND has, with errors of up to LEAST everywhere: for f32 whose products are
 * rounded to less. */
void parity_check_rounded(struct backend *backend, enum dtype dtype, double least);
/* Where one value of a channel lies far from all others, BACKEND's batch norm has the variance
 * right to 1e-5 in f32. */
void parity_check_outliers(struct backend *backend);

#endif
