/* Decision after the loss of the master: whether this worker takes another role, or which error it
 * exits with. */
#ifndef ENTRYPOINT_HOST_FAILOVER_MASTER_LOSS_H
#define ENTRYPOINT_HOST_FAILOVER_MASTER_LOSS_H

#include "common/error.h"
#include "entrypoint/host/failover/role_state.h"

/* State of the worker until then. */
struct master_loss {
    bool begun;                /* everything that the job needs was here */
    bool joined;               /* the master had admitted it */
    bool ordered;              /* the job had begun */
    bool waits;                /* it waited for an attempt that would readmit it */
    bool stopping;             /* the master had ordered the ranks to stop */
    bool absent;               /* it asked to be readmitted, and no host is there */
    bool stop_requested;       /* by a signal to this host: a master that follows has to know it */
    const struct error *unfit; /* why this host takes part in no other attempt; NULL: it may */
};

/* Returns true if another role begins, and sets in S whether this host asks to be readmitted in it.
 * WHY says why it follows no other host, for people. */
bool master_loss_may_follow(const struct master_loss *l, struct role_state *s,
                            const struct job *job, const char **why);
/* Sets the error to exit with if none begins. LAST is the last that was known of the master, WHY
 * that of master_loss_may_follow(). */
void master_loss_error(const struct master_loss *l, const struct role_state *s,
                       const struct job *job, const char *last, const char *why, struct error *ret);

#endif
