/* Gathers how the ranks of an attempt ended, lets their shims go, and ends the ranks that a failure
 * has left. Raises ALL_SEATED, FAILURE, ALL_HEARD and COLLECT_DEADLINE. */
#ifndef MASTER_COLLECT_H
#define MASTER_COLLECT_H

#include "entrypoint/master/state.h"

void collect_init(struct master *m);
void collect_close(struct master *m);
/* Words of a host about its ranks. */
void collect_seated(struct member *b, const json_t *message);
void collect_report(struct member *b, const json_t *message);
/* Silent and idle, or no longer so. */
void collect_quiet(struct member *b, const json_t *message, bool is_quiet);
void collect_stalled(struct member *b, const json_t *message);
/* Something has failed: what else is reported within 300 ms is heard, then the ranks are ended. */
void collect_gather(struct master *m);
/* How long reports are waited for, unless the end of that is due sooner already: after a host was
 * lost, after mpirun has ended, after SIGKILL. Those of a host that is silent when mpirun has
 * ended, though nothing has failed, are waited for until it is heard or lost. */
void collect_await_lost(struct master *m);
void collect_await_last(struct master *m);
void collect_await_killed(struct master *m);
/* Lets all shims go that have reported. */
void collect_release_all(struct master *m);

#endif
