/* Wait for what a failed attempt held, before the next one: the job's ports, and the GPUs' memory,
 * which the driver may give back some time after its process is gone. Both at the same time. */
#ifndef ENTRYPOINT_HOST_RESOURCE_WAIT_H
#define ENTRYPOINT_HOST_RESOURCE_WAIT_H

#include "common/error.h"
#include "entrypoint/host/port_wait.h"
#include "entrypoint/host/preflight/device_probe.h"
#include "entrypoint/host/services/services.h"

#include <stdbool.h>

struct resource_wait {
    struct port_wait ports;
    struct device_probe memory;
    bool waits_for_ports, waits_for_memory;
    struct error failure; /* of the ports; code 0: none */
    void (*done)(void *context, const struct error *failure);
    void *context;
};

/* Calls DONE once, possibly before this returns: with NULL, or an error that names a port that is
 * busy after PORT_WAIT_AGAIN_SECONDS. Memory that is still in use is a warning that names its
 * processes. W must stay in place until then. */
void resource_wait_await(struct resource_wait *w, const struct services *services,
                         void (*done)(void *context, const struct error *failure), void *context);
/* Cancels; DONE is not called any more. W may be zeroed. */
void resource_wait_cancel(struct resource_wait *w);

#endif
