/* Fields of a row of the table of operators (tests/ops/cases.h), for the files that list rows. */
#ifndef TESTS_OPS_CASE_ROW_H
#define TESTS_OPS_CASE_ROW_H

#define X(n, h, w, c) .x = {.rank = 4, .dim = {n, h, w, c}}
#define ROWS(n, c) .x = {.rank = 2, .dim = {n, c}}
#define WINDOW(k, s, p) .attr = {.window = {.kernel = k, .stride = s, .pad = p}}

#endif
