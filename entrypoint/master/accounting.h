/* Account of the job's time (outcome/goodput.h), by the master: in its log, its metrics and its
 * events. */
#ifndef ENTRYPOINT_MASTER_ACCOUNTING_H
#define ENTRYPOINT_MASTER_ACCOUNTING_H

#include "entrypoint/master/state/state.h"

/* All ranks have started. */
void accounting_started(struct master *m);
/* Reads what an answer to a heartbeat says of checkpoints. */
void accounting_receive(struct member *b, const json_t *alive);
/* The attempt has failed, as m->failed says, and another one follows. */
void accounting_failed(struct master *m);
/* The job has ended, as m->verdict says: closes the account, once, and reports it if ranks had
 * started.
 */
void accounting_end(struct master *m);
/* Appends the account so far (observe/openmetrics.h). */
int accounting_measure(const struct master *m, struct buf *ret, struct error *err);

#endif
