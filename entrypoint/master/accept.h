/* Accepting of connections at the master.
 *
 * It listens from the start to the end, also while this host or others still download what they
 * need (fetch_wait.h). A peer identifies itself in its first message and is handed on: to join, to
 * rejoin while the job runs, to duplicate_name if it claims this host's name, or to leader_query if
 * it asks which host leads the job. A peer without a place here gets the reason. */
#ifndef ENTRYPOINT_MASTER_ACCEPT_H
#define ENTRYPOINT_MASTER_ACCEPT_H

#include "entrypoint/master/state/state.h"

/* Callbacks of the listener; the context is the master. */
extern const struct listener_events accept_events;

/* Opens the listener. EVENTS are used for the links of members, from the first message on; their
 * context is the member. */
int accept_open(struct master *m, const struct link_events *events, struct error *err);

/* Closes the listener and all links of members. They get no reason: each finds out for itself that
 * this host is gone. */
void accept_disconnect_all(struct master *m);

/* Closes the listener; links of members stay open. */
void accept_close(struct master *m);

#endif
