/* Sums over all ranks of slices in device memory, enqueued beside the device's own queues, so that
 * they can be part of a recorded step:
 *
 *     device_sum_start(sum, queue, slice, count, err);  behind what QUEUE holds so far
 *     ... more work is enqueued ...
 *     device_sum_join(sum, queue, err);                 what QUEUE gets from here on sees all sums
 *
 * Neither call waits for the sum. Sums are of f32, in place; every rank makes the same calls in the
 * same order and gets the same bits. Everything else that ranks say to each other goes over struct
 * comm.
 *
 * A peer that is gone must not leave the host waiting for its device forever, so a wait for a queue
 * with sums in it is announced, and judged when it is over:
 *
 *     device_sum_expect(sum, deadline);     sums that are not through by then are given up, so that
 *     ... wait for the queue ...            the queue runs dry
 *     device_sum_check(sum, err);           whether all of them were summed
 *
 * A recording that holds sums is given back before device_sum_finish. Sums that a recording must
 * not hold say so (`unrecorded`): then steps with them are enqueued anew each time. */
#ifndef TRAINER_COMM_DEVICE_SUM_H
#define TRAINER_COMM_DEVICE_SUM_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device_sum;

struct device_sum_driver {
    int (*start)(struct device_sum *s, void *queue, void *values, size_t count, struct error *err);
    int (*join)(struct device_sum *s, void *queue, struct error *err);
    void (*expect)(struct device_sum *s, int64_t deadline);
    int (*check)(struct device_sum *s, struct error *err);
    int (*finish)(struct device_sum *s, struct error *err);
    int (*close)(struct device_sum *s);
};

/* First member of an implementation's own struct. */
struct device_sum {
    const struct device_sum_driver *driver;
    bool unrecorded;
};

/* QUEUE as backend_device.queue gives it. */
static inline int device_sum_start(struct device_sum *s, void *queue, void *values, size_t count,
                                   struct error *err) {
    return s->driver->start(s, queue, values, count, err);
}

static inline int device_sum_join(struct device_sum *s, void *queue, struct error *err) {
    return s->driver->join(s, queue, err);
}

/* DEADLINE as in clock.h. NULL is fine, for both. */
static inline void device_sum_expect(struct device_sum *s, int64_t deadline) {
    if (s != NULL)
        s->driver->expect(s, deadline);
}

static inline int device_sum_check(struct device_sum *s, struct error *err) {
    return s == NULL ? 0 : s->driver->check(s, err);
}

/* Says goodbye together with all other ranks, after the last sum. NULL is fine. */
static inline int device_sum_finish(struct device_sum *s, struct error *err) {
    return s == NULL ? 0 : s->driver->finish(s, err);
}

/* Leaves, without the others where they have not finished together. NULL is fine. -1: the device
 * cannot be made to let go; what a sum may still use must not be freed, the process has to end. */
static inline int device_sum_close(struct device_sum *s) {
    return s == NULL ? 0 : s->driver->close(s);
}

#endif
