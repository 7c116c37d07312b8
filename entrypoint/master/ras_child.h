/* Child process that asks NCCL RAS which operation is stuck.
 *
 * The first host has one while all ranks run (evidence/ras_run.h), but only if it has GPUs or
 * NCCL_RAS_ADDR is set. */
#ifndef ENTRYPOINT_MASTER_RAS_CHILD_H
#define ENTRYPOINT_MASTER_RAS_CHILD_H

#include "entrypoint/master/state/state.h"

/* Starts it once all ranks have started. */
void ras_child_begin(struct master *m);
/* Ends it; one that does not run is fine. */
void ras_child_end(struct master *m);

/* Takes a line of the child. */
void ras_child_line(void *master, const char *line, size_t size);

#endif
