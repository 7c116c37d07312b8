#include "trainer/app/run/keep.h"

#include "common/clock.h"

int keep_open(struct keeping *k, const char *every, struct error *err) {
    *k = (struct keeping){.since = clock_now(), .saved_step = -1};
    return interval_parse(&k->every, every, err) != 0 ? error_wrap(err, "--checkpoint-every") : 0;
}

bool keep_falls_on(const struct keeping *k, int64_t number) {
    return k->every.steps > 0 && number % k->every.steps == 0;
}

bool keep_is_due(const struct keeping *k, int64_t step) {
    return k->saved_step != step && (k->asked || keep_falls_on(k, step));
}

bool keep_is_time(const struct keeping *k) {
    return k->every.nanoseconds > 0 && clock_now() - k->since >= k->every.nanoseconds;
}
