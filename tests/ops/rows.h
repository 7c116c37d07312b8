/* Operators of which only some leading rows count.
 *
 * They run on a BACKEND that computes part of the rows (struct op, `rows`). The rows that count are
 * the same as if all were computed, and those after the computed part are neither read nor written.
 * Everything asserts (CUnit). */
#ifndef TESTS_OPS_ROWS_H
#define TESTS_OPS_ROWS_H

#include "trainer/graph/backend.h"

/* Those that every such backend has. */
#define ROWS_OF(CASE)                                                                              \
    CASE(convolutions)                                                                             \
    CASE(convolutions_with_a_bias)                                                                 \
    CASE(transposed_convolutions)                                                                  \
    CASE(biases)                                                                                   \
    CASE(class_convolutions)
#define ROWS_DECLARED(what) void rows_of_##what(struct backend *backend);
ROWS_OF(ROWS_DECLARED)
ROWS_DECLARED(masked_data_gradients)

/* Of a test: a case for each, by its own check(rows_of_...), and its line in UNIT_MAIN. */
#define ROWS_CASE(what)                                                                            \
    static void what(void) {                                                                       \
        check(rows_of_##what);                                                                     \
    }
#define ROWS_UNIT(what) UNIT(what),

#endif
