/* Transition from one attempt to the next.
 *
 * Every host ends what is left of the last attempt and reports that it is ready. Raises
 * CLEANUP_FAILED for a host that is not, CLEANUP_DONE, and ENDED if a host was lost that the job
 * cannot do without. */
#ifndef ENTRYPOINT_MASTER_RELAUNCH_H
#define ENTRYPOINT_MASTER_RELAUNCH_H

#include "entrypoint/master/state/state.h"

void relaunch_init(struct master *m);
void relaunch_close(struct master *m);
/* Orders all hosts to clean up. */
void relaunch_clear(struct master *m);
/* Handles a host's report that it is ready, or why it is not. */
void relaunch_cleared(struct member *b, const json_t *message);
/* A host was lost meanwhile: decides whether the others continue or the job ends. */
void relaunch_decide_on_loss(struct member *b, const char *why);
/* Disconnects a host that is not ready while the others continue; it learns of it by the end of its
 * link. */
void relaunch_disconnect(struct member *b);
/* Starts the next attempt and tells the hosts that are ready which hosts are lost. Hosts that wait
 * for a later attempt get no message. */
int relaunch_next(struct master *m, struct error *err);
/* With failover: a host has accepted the attempt's view. Raises VIEW_ACCEPTED when all have. */
void relaunch_begun(struct member *b);
/* Commits the view: tells all hosts that every host has accepted it, and where the others are. */
void relaunch_commit(struct master *m);
/* Ends the job with ERROR of HOST after ATTEMPT; the verdict of the last attempt goes into the log
 * tail. */
void relaunch_end(struct master *m, const struct error *error, size_t host, unsigned attempt,
                  const char *why);

#endif
