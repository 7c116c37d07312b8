/* The wait for a job's ports: one may be busy for a while after the process that had it was killed.
 */
#ifndef ENTRYPOINT_HOST_PORT_WAIT_H
#define ENTRYPOINT_HOST_PORT_WAIT_H

#include "common/error.h"
#include "entrypoint/job/job.h"
#include "entrypoint/os/loop.h"

#include <stdint.h>

/* What was killed just before in this container, or on this host, lets go of its ports in less: in
 * front of a job's first attempt, and where an attempt or a life of its own has just ended. */
enum { PORT_WAIT_FIRST_SECONDS = 5, PORT_WAIT_AGAIN_SECONDS = 15 };

struct port_wait {
    struct loop *loop; /* borrowed, as all that follows; NULL: never used */
    const struct job *job;
    struct timer again;
    int64_t deadline;
    void (*done)(void *context, const struct error *failure);
    void *context;
};

/* Calls DONE once, perhaps before this returns: with NULL when all ports of JOB but the control
 * link's are free, or it has one rank, which needs none; after SECONDS with the error that names
 * one. V stays where it is until then; a wait that is under way is given up for the new one.
 */
void port_wait_await(struct port_wait *v, struct loop *loop, const struct job *job, int64_t seconds,
                     void (*done)(void *context, const struct error *failure), void *context);
/* DONE is not called any more. For a zeroed V, too. */
void port_wait_cancel(struct port_wait *v);

#endif
