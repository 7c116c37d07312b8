/* Lease of a worker on its master, and loss of the master.
 *
 * Each message of the master begins the lease anew. After settings_dead() of silence the master
 * counts as lost: this host ends what runs on it, and takes another role if it may
 * (failover/master_loss.h), or else exits. With failover the lease also passes while the machine
 * sleeps, because the other hosts may follow another master meanwhile (failover/role_state.h). */
#ifndef ENTRYPOINT_HOST_WORKER_MASTER_LEASE_H
#define ENTRYPOINT_HOST_WORKER_MASTER_LEASE_H

#include "entrypoint/host/worker/worker_state.h"

#include <stdbool.h>

/* Prepares the timer of W, which must not move afterwards. */
void master_lease_init(struct worker *w);
/* Opens the timer that counts sleep, too, if failover needs it. */
int master_lease_open(struct worker *w, struct error *err);
void master_lease_close(struct worker *w);

/* Begins the lease anew: the master has just been heard. */
void master_lease_begin(struct worker *w);
/* Stops it: there is no link to a master. */
void master_lease_stop(struct worker *w);
/* Notes a heartbeat of the master, once it has admitted this host. */
void master_lease_beat(struct worker *w);

/* Returns true after a lease without a master: others may follow another one, and messages now come
 * too late. */
bool master_lease_is_over(const struct worker *w);

/* Closes the link, and stops restoring it. */
void master_lease_drop_link(struct worker *w);
/* The master is silent: closes the link, and loses the master unless the job is judged. */
void master_lease_end(struct worker *w);
/* The master is lost; WHY is for people. The other hosts may continue without this one from here
 * on, so none of its processes may continue. */
void master_lease_lose(struct worker *w, const char *why);

#endif
