/* Measured all-reduces of a `ringtrain check-comm --json`, for the model of communication. */
#ifndef COMMON_SCALING_COMM_READING_H
#define COMMON_SCALING_COMM_READING_H

#include "common/error.h"
#include "common/scaling/scaling_model.h"

#include <stddef.h>

/* Reads those among all ranks from a file with the JSON, which log lines may surround, to RET;
 * returns how many there are, at most ROOM; -1 if there is no such JSON. */
int comm_reading_read(const char *path, struct scaling_reduce *ret, size_t room, struct error *err);

/* The same from TEXT, which a NUL ends; WHERE names it. */
int comm_reading_parse(const char *text, const char *where, struct scaling_reduce *ret, size_t room,
                       struct error *err);

#endif
