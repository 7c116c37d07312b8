/* Wait for what a failed attempt held, before the next one: the job's ports, and the GPUs' memory,
 * which the driver may give back some time after its process is gone. Both at the same time. What
 * is learned of the GPUs meanwhile, and from Xids, may make this host unfit for another attempt. */
#ifndef ENTRYPOINT_HOST_RESOURCE_WAIT_H
#define ENTRYPOINT_HOST_RESOURCE_WAIT_H

#include "common/error.h"
#include "entrypoint/host/port_wait.h"
#include "entrypoint/host/preflight/device_probe.h"
#include "entrypoint/host/ranks/rank_set.h"
#include "entrypoint/host/services/services.h"

#include <stdbool.h>

struct resource_wait {
    struct port_wait ports;
    struct device_probe memory;
    bool waits_for_ports, waits_for_memory;
    struct rank_set *ranks; /* for Xids of the attempt; or NULL */
    struct error failure;   /* code 0: none; EXIT_CODE_DEVICE: this host is unfit */
    void (*done)(void *context, const struct error *failure);
    void *context;
};

/* Calls DONE once, possibly before this returns: with NULL, or an error that names a port that is
 * busy after PORT_WAIT_AGAIN_SECONDS, or a GPU that cannot be used. Memory that is still in use is
 * a warning that names its processes. W must stay in place until then. */
void resource_wait_await(struct resource_wait *w, const struct services *services,
                         struct rank_set *ranks,
                         void (*done)(void *context, const struct error *failure), void *context);
/* Returns why this host is unfit for another attempt: a GPU cannot be used. NULL: it is fit. */
const struct error *resource_wait_unfit(const struct resource_wait *w);
/* Cancels; DONE is not called any more. W may be zeroed. */
void resource_wait_cancel(struct resource_wait *w);

#endif
