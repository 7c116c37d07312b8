/* Takeover after the loss of the master.
 *
 * The new master waits for the other hosts that have lost the old one. It starts the next attempt
 * when they have a quorum by all that they know (outcome/quorum.h) and nothing of the old attempt
 * can run any more (host/failover/role_state.h). Raises QUORUM_REACHED, QUORUM_LOST and
 * LAUNCH_FAILED. */
#ifndef ENTRYPOINT_MASTER_FAILOVER_TAKEOVER_H
#define ENTRYPOINT_MASTER_FAILOVER_TAKEOVER_H

#include "entrypoint/master/state/state.h"

#include <jansson.h>

void takeover_init(struct master *m);
void takeover_close(struct master *m);

/* Replaces joining in any role after the first: opens the list of hosts that may connect. */
void takeover_open(struct master *m);
/* Starts; this host has everything that it needs. */
void takeover_begin(struct master *m);
/* Checks if HOST with the first message MESSAGE may take part; the error is for it. */
int takeover_check(const struct master *m, size_t host, const json_t *message, struct error *err);
/* Admits the host. */
void takeover_admit(struct member *b, const json_t *message);
/* Checks the quorum again after a change: starts, or keeps waiting. */
void takeover_check_quorum(struct master *m);
/* Marks absent hosts lost and moves on to the next attempt. */
void takeover_end(struct master *m);

#endif
