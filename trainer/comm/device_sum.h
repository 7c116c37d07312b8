/* Sums over all ranks of slices in device memory, enqueued beside the device's own queue, so that
 * they can be part of a recorded step:
 *
 *     device_sum_start(sum, slice, count, err);    behind what the queue holds so far
 *     ... more work is enqueued ...
 *     device_sum_join(sum, err);                   what is enqueued from here on sees the sums
 *
 * Neither call waits. Sums are of f32, in place; every rank makes the same calls in the same order.
 * Everything else that ranks say to each other goes over struct comm. */
#ifndef COMM_DEVICE_SUM_H
#define COMM_DEVICE_SUM_H

#include "common/error.h"

#include <stddef.h>

struct device_sum;

struct device_sum_driver {
    int (*start)(struct device_sum *s, void *values, size_t count, struct error *err);
    int (*join)(struct device_sum *s, struct error *err);
    /* Whether the sums so far went wrong: after the queue has run dry, or given up. */
    int (*check)(struct device_sum *s, struct error *err);
    void (*close)(struct device_sum *s);
};

/* First member of an implementation's own struct. */
struct device_sum {
    const struct device_sum_driver *driver;
};

static inline int device_sum_start(struct device_sum *s, void *values, size_t count,
                                   struct error *err) {
    return s->driver->start(s, values, count, err);
}

static inline int device_sum_join(struct device_sum *s, struct error *err) {
    return s->driver->join(s, err);
}

static inline int device_sum_check(struct device_sum *s, struct error *err) {
    return s->driver->check(s, err);
}

/* NULL is fine. */
static inline void device_sum_close(struct device_sum *s) {
    if (s != NULL)
        s->driver->close(s);
}

#endif
