/* All-reduces between pairs of hosts, among all ranks of the two: in rounds, so that each host has
 * one partner at a time. Slow pairs are measured up to three times more, one after the other, and
 * the best result counts. */
#ifndef TRAINER_APP_COMM_CHECK_COMM_CHECK_PAIRS_H
#define TRAINER_APP_COMM_CHECK_COMM_CHECK_PAIRS_H

#include "trainer/app/comm_check/comm_findings.h"

/* Collective. Fills in the pairs and judges them. */
int comm_check_pairs_measure(struct comm_check *c, struct error *err);

#endif
