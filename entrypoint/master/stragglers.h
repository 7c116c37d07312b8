/* Detection of stragglers by the master: ranks that the others wait for.
 *
 * Answers to heartbeats hold how far each rank is, if its program reports that
 * (outcome/straggler.h). A straggler is reported once, in the log and as an event; nothing else
 * follows. */
#ifndef ENTRYPOINT_MASTER_STRAGGLERS_H
#define ENTRYPOINT_MASTER_STRAGGLERS_H

#include "entrypoint/master/state/state.h"

void stragglers_open(struct master *m);
void stragglers_close(struct master *m);
/* Handles the answer to a heartbeat. */
void stragglers_receive(struct member *b, const json_t *alive);

#endif
