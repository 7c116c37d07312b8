/* Says once for which rank the others wait, in the log and as an event: every host's heartbeats
 * bring how far its ranks are, where their program tells that (outcome/pace.h). Nothing follows
 * from it. */
#ifndef MASTER_BEHIND_H
#define MASTER_BEHIND_H

#include "entrypoint/master/state.h"

void behind_open(struct master *m);
void behind_close(struct master *m);
/* The answer to a heartbeat. */
void behind_told(struct member *b, const json_t *alive);

#endif
