/* From one attempt to the next: every host ends what is left of the last one and says that it is
 * ready. Raises UNFIT for a host that is not, ALL_CLEAR, and ENDED where a host was lost that the
 * job cannot do without. */
#ifndef ENTRYPOINT_MASTER_RELAUNCH_H
#define ENTRYPOINT_MASTER_RELAUNCH_H

#include "entrypoint/master/state.h"

void relaunch_init(struct master *m);
void relaunch_close(struct master *m);
/* Has all hosts clear up. */
void relaunch_clear(struct master *m);
/* A host has ended everything and is ready, or says why it is not. */
void relaunch_cleared(struct member *b, const json_t *message);
/* A host was lost meanwhile: the others go on, or nobody does. */
void relaunch_decide_on_loss(struct member *b, const char *why);
/* The host is not ready, and the others go on: it learns of it by its link's end. */
void relaunch_disconnect(struct member *b);
/* All are ready: they are told who is gone. Who waits for a later attempt is told nothing. */
int relaunch_next(struct master *m, struct error *err);
/* Where the first host may be lost: one has taken the attempt's roll. Raises ALL_BEGUN. */
void relaunch_begun(struct member *b);
/* All have: they are told, and where the others are. */
void relaunch_commit(struct master *m);
/* The end of the job by ERROR of HOST, after ATTEMPT; what the last one came to is its story. */
void relaunch_end(struct master *m, const struct error *error, size_t host, unsigned attempt,
                  const char *why);

#endif
