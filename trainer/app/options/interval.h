/* How often something is done: "500" steps, or a time, "45s", "30m" or "2h"; "0" is never. */
#ifndef TRAINER_APP_OPTIONS_INTERVAL_H
#define TRAINER_APP_OPTIONS_INTERVAL_H

#include "common/error.h"

#include <stdint.h>

struct interval {
    int64_t steps;       /* 0: not by steps */
    int64_t nanoseconds; /* 0: not by time */
};

/* EXIT_CODE_USAGE for anything else. */
int interval_parse(struct interval *ret, const char *text, struct error *err);

#endif
