#include "trainer/app/run/checkpoint_policy.h"

#include "common/clock.h"

int checkpoint_policy_open(struct checkpoint_policy *k, const char *every, struct error *err) {
    *k = (struct checkpoint_policy){.since = clock_now(), .saved_step = -1};
    return interval_parse(&k->every, every, err) != 0 ? error_wrap(err, "--checkpoint-every") : 0;
}

bool checkpoint_policy_falls_on(const struct checkpoint_policy *k, int64_t number) {
    return k->every.steps > 0 && number % k->every.steps == 0;
}

bool checkpoint_policy_is_due(const struct checkpoint_policy *k, int64_t step) {
    return k->saved_step != step && (k->asked || checkpoint_policy_falls_on(k, step));
}

bool checkpoint_policy_is_time(const struct checkpoint_policy *k) {
    return k->every.nanoseconds > 0 && clock_now() - k->since >= k->every.nanoseconds;
}
