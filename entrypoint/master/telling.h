/* Telling all hosts the job's verdict, and who has it. The first host leaves last. A good end it
 * does not leave before every host has acknowledged it that may still wait for it: one that misses
 * it would take this host for lost, and fail. After any other end nobody is waited for that long.
 */
#ifndef ENTRYPOINT_MASTER_TELLING_H
#define ENTRYPOINT_MASTER_TELLING_H

#include "entrypoint/master/state.h"

/* To all hosts that are there. */
void telling_begin(struct master *m);
/* A host has it. */
void telling_heard(struct member *b);
/* Whether MESSAGE, the first word on a link, is from a host that had a part in this run and comes
 * when the verdict is known; then it is told that, on a link that becomes this file's. */
bool telling_is_asked(const struct master *m, const json_t *message);
void telling_meet(struct member *b, struct link *link);
/* A host whose lease runs has not acknowledged a good end. */
bool telling_is_owed(const struct master *m);

#endif
