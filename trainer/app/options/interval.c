#include "trainer/app/options/interval.h"

#include "common/clock.h"
#include "common/str.h"

#include <stdio.h>
#include <string.h>

enum { INTERVAL_MAX = 999999999, NUMBER_SIZE = 16 };

static int64_t seconds_of(char unit) {
    switch (unit) {
    case 's':
        return 1;
    case 'm':
        return 60;
    case 'h':
        return 3600;
    default:
        return 0;
    }
}

int interval_parse(struct interval *ret, const char *text, struct error *err) {
    char number[NUMBER_SIZE];
    int64_t value = 0;
    size_t length = strlen(text);
    int64_t unit = length > 0 ? seconds_of(text[length - 1]) : 0;
    size_t digits = unit > 0 ? length - 1 : length;
    *ret = (struct interval){0};
    (void)snprintf(number, sizeof(number), "%.*s", (int)digits, text);
    if (digits >= sizeof(number) || str_parse_whole(number, 0, INTERVAL_MAX, &value, NULL) != 0)
        return error_set(err, EXIT_CODE_USAGE,
                         "'%.64s' is neither a number of steps (500) nor a time (45s, 30m, 2h)",
                         text);
    if (unit > 0)
        ret->nanoseconds = value * unit * CLOCK_SECOND;
    else
        ret->steps = value;
    return 0;
}
