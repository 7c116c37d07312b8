/* All-reduce of slices in device memory, enqueued beside the device's own queues. A sum can thereby
 * be part of a recorded step:
 *
 *     device_sum_start(sum, queue, slice, count, err);  after what QUEUE holds so far
 *     ... more work is enqueued ...
 *     device_sum_join(sum, queue, err);                 later work in QUEUE sees all sums
 *
 * Neither call waits for the sum. Sums are of f32, in place; all ranks make the same calls in the
 * same order and get the same bits. All other communication between ranks uses struct comm.
 *
 * The host must not wait forever for its device if a peer is gone. So it announces a wait for a
 * queue with sums in it, and checks the result afterwards:
 *
 *     device_sum_expect(sum, deadline);     sums unfinished by then are aborted, so that
 *     ... wait for the queue ...            the queue becomes idle
 *     device_sum_check(sum, err);           fails unless all of them finished
 *
 * Destroy a recording that contains sums before device_sum_finish. An implementation that cannot
 * record its sums sets `unrecorded`: steps are then enqueued anew each time. */
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

/* QUEUE as returned by backend_device.queue. */
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

/* Collective, after the last sum: leaves together with all other ranks. NULL is fine. */
static inline int device_sum_finish(struct device_sum *s, struct error *err) {
    return s == NULL ? 0 : s->driver->finish(s, err);
}

/* Leaves; without the others if they have not finished together. NULL is fine. Returns -1 if the
 * device cannot be made to stop: memory that a sum may still use must then not be freed, and the
 * process has to end. */
static inline int device_sum_close(struct device_sum *s) {
    return s == NULL ? 0 : s->driver->close(s);
}

#endif
