/* A stop's way to the ranks, and its budget. Raises HOLD_SPENT and BUDGET_SPENT. */
#ifndef ENTRYPOINT_MASTER_STOP_H
#define ENTRYPOINT_MASTER_STOP_H

#include "entrypoint/master/state.h"

void stop_init(struct master *m);
void stop_close(struct master *m);
void stop_note(struct master *m, size_t host);
/* The ranks are told, now or when all have started. */
void stop_begin(struct master *m);
void stop_send(struct master *m);
/* Who asks twice does not want to wait. */
void stop_end_budget(struct master *m);
void stop_kill(struct master *m);

#endif
