/* Hosts that are connected but still download what they need.
 *
 * A download may take as long as it makes progress. A host's time to join runs from its last
 * message about progress, or from the opening of the listener if it has sent none (downloading is
 * part of joining, phase.h). */
#ifndef ENTRYPOINT_MASTER_MEMBERS_FETCH_WAIT_H
#define ENTRYPOINT_MASTER_MEMBERS_FETCH_WAIT_H

#include "entrypoint/master/state/state.h"

/* Starts the time of every host; the listener is open. */
void fetch_wait_open(struct master *m);

/* Records that a host is connected and how far MARK says it is: its first message, or further
 * progress. On the first one the host, and the hosts that get files from it, get the name of the
 * host to ask if they cannot know it. */
void fetch_wait_receive(struct member *b, const struct fetch_progress *mark);
/* Records that the host has disconnected. Its time runs on. */
void fetch_wait_left(struct member *b);

/* Returns the host that runs out of time first, of those that have neither joined nor asked to, or
 * NULL. *RET is when that is. */
struct member *fetch_wait_first(struct master *m, int64_t *ret);

/* Write the names of hosts without a link, and of hosts that download with how far they are, for
 * people. */
enum { FETCH_WAIT_NAMES_MAX = 512 };
size_t fetch_wait_missing(const struct master *m, char text[FETCH_WAIT_NAMES_MAX]);
size_t fetch_wait_busy(const struct master *m, char text[FETCH_WAIT_NAMES_MAX]);

#endif
