/* `ringmaster check`: all hosts join as for a job; then, instead of a launch, the master prints a
 * table of what each of them has and marks what will hurt. */
#ifndef MASTER_CHECK_H
#define MASTER_CHECK_H

#include "common/buf.h"
#include "common/error.h"
#include "host/facts.h"
#include "job/cluster.h"
#include "master/state.h"

#include <stddef.h>

/* One row a host of CLUSTER, one line a warning. OURS is the master's clock when HOSTS were heard:
 * offsets are clock less ours, in ns. */
int check_table(const struct cluster *cluster, const struct facts *const *hosts,
                const int64_t *offsets, struct buf *ret, struct error *err);

/* Prints it; the verdict is that of a job that was none. */
int check_print(struct master *m, struct error *err);

#endif
