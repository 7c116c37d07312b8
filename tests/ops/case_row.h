/* Fields of a row of the table of operators.
 *
 * They are for the files that list the rows of tests/ops/cases.h. */
#ifndef TESTS_OPS_CASE_ROW_H
#define TESTS_OPS_CASE_ROW_H

#define X(n, h, w, c) .x = {.rank = 4, .dim = {n, h, w, c}}
#define ROWS(n, c) .x = {.rank = 2, .dim = {n, c}}
#define WINDOW(k, s, p) .attr = {.window = {.kernel = k, .stride = s, .pad = p}}

#endif
