/* Cause of an attempt's end among its ranks' failures.
 *
 * Some ranks may be lost without ending it (RINGMASTER_LOST_RANKS).
 *
 * A rank whose failure the others survived is forgone. When another failure then ends the attempt,
 * what was forgone long before is no cause of it. What was forgone shortly before may well be: a
 * server's loss counts as forgone until the ranks that need it fail. So the cause is the first
 * failure within FIRST_FAILURE_WINDOW_NS before the one that ended the attempt. Pure. */
#ifndef ENTRYPOINT_OUTCOME_FIRST_FAILURE_H
#define ENTRYPOINT_OUTCOME_FIRST_FAILURE_H

#include "entrypoint/job/cluster/cluster.h"
#include "entrypoint/outcome/rank_report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Within this time of the first failure a signal outranks an exit: the rank that crashed is the
 * cause of the ranks that gave up after it. */
#define FIRST_FAILURE_TIE_NS INT64_C(50000000)
#define FIRST_FAILURE_WINDOW_NS INT64_C(10000000000)

/* Reports of an attempt's ranks, at most one per rank. Borrowed. */
struct failures {
    const struct rank_report *reports;
    size_t count;
    const bool *forgone; /* by rank; NULL: none is */
};

/* Returns true if R is of a rank that was lost while the others continued. */
bool first_failure_is_forgone(const struct failures *f, const struct rank_report *r);
size_t first_failure_count_forgone(const struct failures *f);

/* Returns the earliest failure without which the attempt would have continued; NULL: none. */
const struct rank_report *first_failure_end(const struct failures *f);
/* Returns the failure that caused it; NULL: none. */
const struct rank_report *first_failure_cause(const struct failures *f);

/* Writes all failures in their order, or with ONLY_FORGONE those alone, as "rank 1 on algo-2 killed
 * by signal 9 (SIGKILL), 2.1 s later rank 2 on algo-3 exited with 70", at most a few of them. "":
 * there are none. Returns how many there are. */
enum { FIRST_FAILURE_ORDER_SIZE = 416 };
size_t first_failure_order(const struct failures *f, const struct cluster *cluster,
                           bool only_forgone, char ret[FIRST_FAILURE_ORDER_SIZE]);

#endif
