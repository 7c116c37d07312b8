/* Parsed interval of a flag: a number of steps ("500") or a time ("45s", "30m", "2h"); "0" is
 * never. */
#ifndef TRAINER_APP_OPTIONS_INTERVAL_H
#define TRAINER_APP_OPTIONS_INTERVAL_H

#include "common/error.h"

#include <stdint.h>

struct interval {
    int64_t steps;       /* 0: not by steps */
    int64_t nanoseconds; /* 0: not by time */
};

/* Fails with EXIT_CODE_USAGE for any other text. */
int interval_parse(struct interval *ret, const char *text, struct error *err);

#endif
