/* Stop requests to a job: forwarding to the ranks, and the time budget. Raises HOLD_SPENT and
 * BUDGET_SPENT. */
#ifndef ENTRYPOINT_MASTER_STOP_H
#define ENTRYPOINT_MASTER_STOP_H

#include "entrypoint/master/state/state.h"

void stop_init(struct master *m);
void stop_close(struct master *m);
/* Warns the ranks of the attempt that begins before the platform ends the job, if the platform says
 * when. */
void stop_await_end(struct master *m);
void stop_note(struct master *m, size_t host);
/* Forwards the stop to the ranks, now or once all have started. */
void stop_begin(struct master *m);
/* Sends the stop signal, after a warning where there is one. */
void stop_send(struct master *m);
/* Ends the budget after a second request. */
void stop_end_budget(struct master *m);
void stop_kill(struct master *m);

#endif
