/* Rows of `ringmaster check` (check_rows.h) as lines for people. */
#ifndef ENTRYPOINT_MASTER_CHECK_PRINT_H
#define ENTRYPOINT_MASTER_CHECK_PRINT_H

#include "common/buf.h"
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>

/* COUNT hosts take part: a row that holds for all of them says so. Text of other hosts is made safe
 * for a terminal. */
int check_print_rows(const json_t *rows, size_t count, bool colour, struct buf *ret,
                     struct error *err);

/* Whether FD is a terminal that shows colours, and nobody said NO_COLOR. */
bool check_has_colour(int fd, char *const *environment);

#endif
