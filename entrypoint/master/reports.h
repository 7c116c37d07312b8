/* Gathers how the ranks of an attempt ended, lets their shims go, and ends the ranks that a failure
 * has left. Raises ALL_SEATED, FAILURE, ALL_HEARD and COLLECT_DEADLINE. */
#ifndef ENTRYPOINT_MASTER_REPORTS_H
#define ENTRYPOINT_MASTER_REPORTS_H

#include "entrypoint/master/state.h"

void reports_init(struct master *m);
void reports_close(struct master *m);
/* Words of a host about its ranks. */
void reports_seated(struct member *b, const json_t *message);
void reports_report(struct member *b, const json_t *message);
/* Silent and idle, or no longer so. */
void reports_quiet(struct member *b, const json_t *message, bool is_quiet);
void reports_stalled(struct member *b, const json_t *message);
/* Something has failed: what else is reported within 300 ms is heard, then the ranks are ended. */
void reports_gather(struct master *m);
/* How long reports are waited for, unless the end of that is due sooner already: after a host was
 * lost, after mpirun has ended, after SIGKILL. Those of a host that is silent when mpirun has
 * ended, though nothing has failed, are waited for until it is heard or lost. */
void reports_await_lost(struct master *m);
void reports_await_last(struct master *m);
void reports_await_killed(struct master *m);
/* Lets all shims go that have reported. */
void reports_release_all(struct master *m);

#endif
