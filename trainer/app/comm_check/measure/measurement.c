#include "trainer/app/comm_check/measure/measurement.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "trainer/app/comm_check/measure/trial_values.h"

#include <stdlib.h>

static const double LONG = 0.5; /* seconds */

double measurement_bus_rate(const struct measurement *m) {
    if (m->seconds <= 0 || m->ranks < 1)
        return 0;
    return (double)m->bytes / m->seconds * 2 * (m->ranks - 1) / m->ranks;
}

static int sum_once(struct reducer *r, struct comm *group, size_t count, double *ret_seconds,
                    uint64_t *wrong, struct error *err) {
    trial_values_fill(r->values, count, comm_rank(group));
    if (reducer_sum(r, count, ret_seconds, err) != 0)
        return -1;
    *wrong += trial_values_wrong(r->values, count, comm_size(group));
    return 0;
}

static int in_order(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A single one says little on a busy machine, but several long ones take too long. */
static int32_t times_in(double budget, double first) {
    const int32_t least = first < LONG ? 3 : 1;
    const double times = first > 0 ? budget / first : MEASURE_TIMES_MAX;
    return times < least ? least : times > MEASURE_TIMES_MAX ? MEASURE_TIMES_MAX : (int32_t)times;
}

/* Makes *OWN what all ranks together have seen. */
static int combine(struct comm *group, struct measurement *own, struct error *err) {
    cleanup_free struct measurement *all = calloc((size_t)comm_size(group), sizeof(*all));
    if (all == NULL)
        return error_no_memory(err, "measurements of all ranks");
    if (comm_gather(group, own, sizeof(*own), all, err) != 0)
        return -1;
    own->wrong = 0;
    for (int i = 0; i < comm_size(group); i++) {
        own->wrong += all[i].wrong;
        own->seconds = all[i].seconds > own->seconds ? all[i].seconds : own->seconds;
    }
    return 0;
}

int measurement_take(struct reducer *r, struct comm *group, size_t bytes, double budget,
                     struct measurement *ret, struct error *err) {
    double seconds[MEASURE_TIMES_MAX] = {0};
    const size_t count = bytes / sizeof(float);
    struct measurement own = {.bytes = bytes, .ranks = comm_size(group)};
    const int64_t began = clock_now();
    if (sum_once(r, group, count, &seconds[0], &own.wrong, err) != 0)
        return -1;
    own.times = times_in(budget, (double)(clock_now() - began) / CLOCK_SECOND);
    if (comm_broadcast(group, &own.times, sizeof(own.times), 0, err) != 0)
        return -1;
    for (int32_t i = 0; i < own.times; i++)
        if (sum_once(r, group, count, &seconds[i], &own.wrong, err) != 0)
            return -1;
    qsort(seconds, (size_t)own.times, sizeof(seconds[0]), in_order);
    own.seconds = seconds[own.times / 2];
    if (combine(group, &own, err) != 0)
        return -1;
    *ret = own;
    return 0;
}
