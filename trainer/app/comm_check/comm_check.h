/* Check of the connections between the ranks of a job.
 *
 * It makes all-reduces with known sums: within each host, between every pair of hosts, and among
 * all ranks by message size. It takes at most COMM_CHECK_SECONDS; pairs that do not fit into that
 * are left out, and the report says so. */
#ifndef TRAINER_APP_COMM_CHECK_COMM_CHECK_H
#define TRAINER_APP_COMM_CHECK_COMM_CHECK_H

#include "trainer/app/comm_check/comm_findings.h"

/* Collective. Every rank gets the same findings. Call comm_check_done in any case. */
int comm_check_run(struct comm_check *c, enum reducer_kind kind, struct comm *comm,
                   struct step_limit *limit, struct error *err);

#endif
