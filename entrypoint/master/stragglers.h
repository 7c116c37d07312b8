/* Says once for which rank the others wait, in the log and as an event: every host's heartbeats
 * bring how far its ranks are, where their program tells that (outcome/straggler.h). Nothing
 * follows from it. */
#ifndef ENTRYPOINT_MASTER_STRAGGLERS_H
#define ENTRYPOINT_MASTER_STRAGGLERS_H

#include "entrypoint/master/state.h"

void stragglers_open(struct master *m);
void stragglers_close(struct master *m);
/* The answer to a heartbeat. */
void stragglers_told(struct member *b, const json_t *alive);

#endif
