/* Collection of how the ranks of an attempt ended.
 *
 * It also lets their shims exit, and ends the ranks that are left after a failure. Raises
 * ALL_STARTED, FAILURE, ALL_HEARD and COLLECT_DEADLINE. */
#ifndef ENTRYPOINT_MASTER_REPORTS_H
#define ENTRYPOINT_MASTER_REPORTS_H

#include "entrypoint/master/state/state.h"

void reports_init(struct master *m);
void reports_close(struct master *m);
/* Handle messages of a host about its ranks. */
void reports_rank_started(struct member *b, const json_t *message);
void reports_report(struct member *b, const json_t *message);
/* A rank is silent and idle, or no longer so. */
void reports_quiet(struct member *b, const json_t *message, bool is_quiet);
void reports_stalled(struct member *b, const json_t *message);
/* Something has failed: collects further reports for 300 ms, then ends the ranks. */
void reports_gather(struct master *m);
/* Set how long to wait for reports, unless the deadline is earlier already: after the loss of a
 * host, the end of mpirun, or SIGKILL. If a host is silent when mpirun has ended without a failure,
 * its reports are awaited until it answers or is lost. */
void reports_await_lost(struct master *m);
void reports_await_last(struct master *m);
void reports_await_killed(struct master *m);
/* Lets all shims that have reported exit. */
void reports_release_all(struct master *m);

#endif
