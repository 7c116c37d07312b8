/* Values of one metric in what a program prints.
 *
 * Its lines may have many forms:
 *
 *     step=20 loss=2.3025        epoch 3, loss: 2.3025        {"step": 20, "loss": 2.3025}
 *
 * A value is a number after the whole name, a quote if there is one, and '=' or ':', with blanks
 * between. nan, inf and null (which is NaN) are values, too. Pure but for the file. */
#ifndef COMMON_TEXT_METRIC_SCAN_H
#define COMMON_TEXT_METRIC_SCAN_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Finds the next value of NAME in the text from *AT up to END, and moves *AT past it. Returns
 * false if there is none. */
bool metric_scan_next(const char **at, const char *end, const char *name, double *ret);

enum { METRIC_SCAN_TAIL = 16 * 1024 * 1024 };

/* Values of NAME in the last METRIC_SCAN_TAIL bytes of the file PATH, at most ROOM: the last ones,
 * in their order. Writes how many there are to *RET_COUNT. */
int metric_scan_file(const char *path, const char *name, double *ret, size_t room,
                     size_t *ret_count, struct error *err);

#endif
