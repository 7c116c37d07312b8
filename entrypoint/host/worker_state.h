/* All that a worker (worker.h) knows. Its link is the master's way to it: what comes there does
 * what worker.h says, by these events, whose context is the worker. */
#ifndef ENTRYPOINT_HOST_WORKER_STATE_H
#define ENTRYPOINT_HOST_WORKER_STATE_H

#include "common/net_address.h"
#include "common/run_id.h"
#include "entrypoint/host/find_master.h"
#include "entrypoint/host/redial.h"
#include "entrypoint/host/supervisor.h"
#include "entrypoint/os/boot_timer.h"
#include "entrypoint/wire/link.h"

#include <stdbool.h>
#include <stdint.h>

struct worker {
    struct supervisor s;
    struct find_master seeking;
    struct link *link; /* to the master, once it is open */
    struct redial redial;
    struct timer deadline;
    struct timer announce;
    struct timer lease;
    struct boot_timer late;  /* where the first host may be lost */
    struct net_address peer; /* the master, while the link is open */
    int64_t left;            /* of the time to reach it, while the link is open */
    bool dialling;           /* it has begun to reach for it */
    bool begun;              /* all that the job needs is here, or a fault */
    bool joined;
    bool ordered;  /* the job has begun */
    bool waits;    /* for the next attempt, which takes this host back */
    bool counted;  /* the master counts on it there: a stop is one of the job */
    bool stopping; /* asked for: the master shall hear of it */
    char run[ATTEMPT_RUN_SIZE];
};

extern const struct link_events worker_link_events;
extern const struct redial_events worker_redial_events;

#endif
