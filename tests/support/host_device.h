/* Device that uses the host's memory and runs steps at once.
 *
 * The steps are the reference's. It is for tests of what the engine asks of a device: it keeps
 * account of its memory, packs the weights of convolutions, and notes what has run according to the
 * order of streams, events and waits alone. A step fails if it finds weights that are not packed,
 * not in half precision, or not saved as they should be. */
#ifndef TESTS_SUPPORT_HOST_DEVICE_H
#define TESTS_SUPPORT_HOST_DEVICE_H

#include "trainer/graph/backend.h"

#include <stdbool.h>

enum { HOST_DEVICE_BLOCKS_MAX = 64, HOST_DEVICE_STEPS_MAX = 192 };

struct host_device_block {
    void *memory;
    size_t bytes;
    bool summed;
};

/* What has surely run, a flag a step. */
struct host_device_past {
    bool step[HOST_DEVICE_STEPS_MAX];
};

struct host_device {
    struct backend base; /* first: what the engine gets */
    struct backend_table table;
    struct backend_device device;
    struct backend *ref;
    struct host_device_block blocks[HOST_DEVICE_BLOCKS_MAX]; /* that were not given back yet */
    int block_count;
    int half_count, add_count, refresh_count;     /* calls so far */
    const void *refreshed[HOST_DEVICE_STEPS_MAX]; /* the weights, in the order of the calls */
    int calls, fail_at; /* of those that enqueue, and query and bind: the one that fails; 0: none */
    enum backend_stream stream; /* selected */
    struct host_device_past stream_past[BACKEND_STREAMS], event_past[BACKEND_EVENTS];
    struct host_device_past before[HOST_DEVICE_STEPS_MAX]; /* each step, when it ran */
};

/* Asserts (CUnit) that it worked. Given back with backend_close(&device->base). */
void host_device_open(struct host_device *device);
/* The block that begins at MEMORY, or NULL. */
const struct host_device_block *host_device_block(const struct host_device *device,
                                                  const void *memory);

#endif
