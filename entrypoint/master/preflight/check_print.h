/* Human-readable rows of `ringmaster check` (check_rows.h). */
#ifndef ENTRYPOINT_MASTER_PREFLIGHT_CHECK_PRINT_H
#define ENTRYPOINT_MASTER_PREFLIGHT_CHECK_PRINT_H

#include "common/buf.h"
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>

/* Layout of rows; zeroed for files and pipes, where a row is a line. */
struct check_look {
    bool colour;
    size_t width; /* columns of a terminal, at which lines break between words; 0: nowhere */
};

/* Returns how FD is written to; TERM and NO_COLOR are read from ENVIRONMENT. */
struct check_look check_look_of(int fd, char *const *environment);

/* Appends ROWS as text. COUNT hosts take part; a row that holds for all of them says so. Text from
 * other hosts is made safe for a terminal. */
int check_print_rows(const json_t *rows, size_t count, struct check_look look, struct buf *ret,
                     struct error *err);

#endif
