/* Ranks of a communicator as slots see them, and their threads. */
#ifndef TRAINER_APP_SLOTS_SLOT_COMM_H
#define TRAINER_APP_SLOTS_SLOT_COMM_H

#include "common/error.h"
#include "common/slots/slot_group.h"
#include "common/slots/slot_set.h"
#include "trainer/comm/comm.h"

struct cpus;

/* COMM outlives the result. */
struct slot_group slot_comm_group(struct comm *comm);

/* Collective. Returns how many compute threads a rank has if all slots are used, so that it has as
 * many where fewer are; -1: error. */
int slot_threads(const struct slots *s, struct comm *comm, struct error *err);
/* Collective. Finds the cores of this rank and how many slots share them, in `sharers`. */
int slot_cores(const struct slots *s, struct comm *comm, struct cpus *ret, struct error *err);

#endif
