/* State of a worker (worker.h).
 *
 * Here, too, are the events of its link to the master, with the worker as their context. */
#ifndef ENTRYPOINT_HOST_WORKER_WORKER_STATE_H
#define ENTRYPOINT_HOST_WORKER_WORKER_STATE_H

#include "common/net_address.h"
#include "common/run_id.h"
#include "entrypoint/host/failover/find_master.h"
#include "entrypoint/host/supervisor.h"
#include "entrypoint/host/worker/redial.h"
#include "entrypoint/os/boot_timer.h"
#include "entrypoint/wire/link.h"

#include <stdbool.h>
#include <stdint.h>

struct worker {
    struct supervisor s;
    struct find_master search;
    struct link *link; /* to the master, once open */
    struct redial redial;
    struct timer deadline;
    struct timer announce;
    struct timer lease;
    struct boot_timer late;  /* with failover: then the master counts as lost */
    struct net_address peer; /* the master, while the link is open */
    int64_t left;            /* time left to reach it, while the link is open */
    bool dialling;           /* it has begun to connect */
    bool begun;              /* everything that the job needs is here, or a fault */
    bool joined;
    bool master_is_pid1; /* of its container: its end is that of all processes there */
    bool ordered;        /* the job has begun */
    bool waits;          /* for the next attempt, which readmits this host */
    bool counted;        /* the master counts on it there: a stop is a stop of the job */
    bool master_lost;    /* that for which it waited; it looks for another as a lost host does */
    bool stopping;       /* a stop was requested: the master has to learn of it */
    /* Called before the loss of a master is acted on, WHY for people. Returns true if this host,
     * which was waiting for an attempt, now looks for the host that leads the job next. May be NULL
     * in tests. */
    bool (*searches_on)(struct worker *w, const char *why);
    char run[ATTEMPT_RUN_SIZE];
};

static inline const char *worker_master_name(const struct worker *w) {
    return supervisor_host_name(&w->s, 0);
}

extern const struct link_events worker_link_events;
extern const struct redial_events worker_redial_events;

#endif
