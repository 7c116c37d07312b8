/* The master's door. It is open from the start, also while this host or others fetch what they need
 * (fetch_wait.h), and to the end. Who comes says who it is, and is handed on: to join, to comeback
 * while the job runs, to namesake where it says this host's name, to inquiry where it asks who
 * leads the job. Who has no place here is told why. */
#ifndef ENTRYPOINT_MASTER_ACCEPT_H
#define ENTRYPOINT_MASTER_ACCEPT_H

#include "entrypoint/master/state.h"

/* Of who comes; the context is the master. */
extern const struct listener_events accept_events;

/* EVENTS are of the links of members, from their first word on; the context is the member. */
int accept_open(struct master *m, const struct link_events *events, struct error *err);

/* The door is closed, and all links of members are cut. Nobody is told why: each finds out for
 * itself that this host is gone. */
void accept_disconnect_all(struct master *m);

/* The links of members are left alone. */
void accept_close(struct master *m);

#endif
