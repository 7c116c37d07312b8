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

/* In OPS_ROWS: compares nothing, and shows whether there is a device. */
#define PARITY_NO_ROWS "none"

/* Asserts (CUnit) for every row, with activations of DTYPE, that BACKEND supports what SCOPE says
 * and that its results agree. The environment variable OPS_ROWS limits the table to rows with one
 * of its words, separated by '|', in their names: for tools that slow a run down a hundredfold.
 * Words that no row has are a failure, but for PARITY_NO_ROWS. */
void parity_check(struct backend *backend, enum dtype dtype, enum parity_scope scope);
/* The same for the rows with WORDS in their names; for all rows if WORDS is NULL. */
void parity_check_rows(struct backend *backend, enum dtype dtype, enum parity_scope scope,
                       const char *words);
/* The same for the rows with WORDS in their names, with BOUND in place of each row's own bound. */
void parity_check_bounded(struct backend *backend, enum dtype dtype, const char *words,
                          double (*bound)(enum op_kind kind));
/* The same for what BACKEND supports, with errors of up to LEAST allowed everywhere: for f32 with
 * products rounded to lower precision. */
void parity_check_rounded(struct backend *backend, enum dtype dtype, double least);
/* If one value of a channel lies far from all others, BACKEND's batch norm computes the variance to
 * within 1e-5 in f32. */
void parity_check_outliers(struct backend *backend);

#endif
