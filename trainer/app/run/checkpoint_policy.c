#include "trainer/app/run/checkpoint_policy.h"

#include "common/clock.h"

#include <math.h>
#include <string.h>

#define AUTO_LEAST (60 * CLOCK_SECOND)
#define AUTO_MOST (7200 * CLOCK_SECOND)

/* A write takes at most this part of the time between two. */
enum { WRITE_PART = 10 };

int checkpoint_policy_open(struct checkpoint_policy *k, const char *every, const char *mtbf,
                           struct error *err) {
    struct interval between;
    *k = (struct checkpoint_policy){.since = clock_now(), .saved_step = -1};
    if (interval_parse(&between, mtbf, NULL) != 0 || between.nanoseconds == 0)
        return error_set(err, EXIT_CODE_USAGE,
                         "--mtbf: '%.64s' is no time between two failures (45s, 30m, 24h)", mtbf);
    if (strcmp(every, "auto") != 0)
        return interval_parse(&k->every, every, err) != 0 ? error_wrap(err, "--checkpoint-every")
                                                          : 0;
    k->mtbf = between.nanoseconds;
    k->every.nanoseconds = AUTO_LEAST;
    return 0;
}

bool checkpoint_policy_learn(struct checkpoint_policy *k, int64_t cost, int64_t write) {
    if (k->mtbf == 0)
        return false;
    const int64_t before = k->every.nanoseconds;
    int64_t best = (int64_t)sqrt(2 * (double)cost * (double)k->mtbf) - cost;
    if (best < write * WRITE_PART)
        best = write * WRITE_PART;
    if (best < AUTO_LEAST)
        best = AUTO_LEAST;
    if (best > AUTO_MOST)
        best = AUTO_MOST;
    k->every.nanoseconds = best;
    return best > before + before / 4 || before > best + best / 4;
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
