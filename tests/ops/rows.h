/* Operators of which some leading rows count (struct op, `rows`), on a BACKEND that computes shares
 * of them: the rows that count are as if all were computed, what lies behind the share is neither
 * read nor written. Everything asserts (CUnit). */
#ifndef TESTS_OPS_ROWS_H
#define TESTS_OPS_ROWS_H

#include "backend/backend.h"

void rows_of_convolutions(struct backend *backend);
void rows_of_convolutions_with_a_bias(struct backend *backend);
void rows_of_transposed_convolutions(struct backend *backend);
void rows_of_biases(struct backend *backend);
void rows_of_class_convolutions(struct backend *backend);
void rows_of_masked_data_gradients(struct backend *backend);

#endif
