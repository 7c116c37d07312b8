/* Human-readable rows of `ringmaster check` (check_rows.h). */
#ifndef ENTRYPOINT_MASTER_CHECK_PRINT_H
#define ENTRYPOINT_MASTER_CHECK_PRINT_H

#include "common/buf.h"
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>

/* Appends ROWS as text. COUNT hosts take part; a row that holds for all of them says so. Text from
 * other hosts is made safe for a terminal. */
int check_print_rows(const json_t *rows, size_t count, bool colour, struct buf *ret,
                     struct error *err);

/* Returns true if FD is a terminal that shows colours and NO_COLOR is not set. */
bool check_has_colour(int fd, char *const *environment);

#endif
