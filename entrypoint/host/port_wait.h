/* Wait for the ports of a job: a port may be busy for a while after its owner was killed. */
#ifndef ENTRYPOINT_HOST_PORT_WAIT_H
#define ENTRYPOINT_HOST_PORT_WAIT_H

#include "common/error.h"
#include "entrypoint/host/services/services.h"
#include "entrypoint/job/job.h"
#include "entrypoint/os/loop.h"

#include <stdint.h>

/* A process killed just before, in this container or on this host, releases its ports in less:
 * before a job's first attempt, and after an attempt or role has just ended. */
enum { PORT_WAIT_FIRST_SECONDS = 5, PORT_WAIT_AGAIN_SECONDS = 15 };

struct port_wait {
    const struct services *services; /* NULL: never used */
    struct timer again;
    int64_t deadline;
    void (*done)(void *context, const struct error *failure);
    void *context;
};

/* Calls DONE once, possibly before this returns: with NULL when the ports that the job's launcher
 * needs, except the control link's, are free, or if a single rank needs none; after SECONDS with an
 * error that names a busy port. V must stay in place until then; a new wait replaces one that is
 * under way. */
void port_wait_await(struct port_wait *v, const struct services *services, int64_t seconds,
                     void (*done)(void *context, const struct error *failure), void *context);
/* Cancels; DONE is not called any more. V may be zeroed. */
void port_wait_cancel(struct port_wait *v);

#endif
