/* Threads of a rank in a slot. */
#ifndef TRAINER_APP_SLOTS_SLOT_THREADS_H
#define TRAINER_APP_SLOTS_SLOT_THREADS_H

#include "common/error.h"
#include "common/slots/slot_set.h"
#include "trainer/comm/comm.h"

/* Collective. Returns how many compute threads a rank has if all slots are used, so that it has as
 * many where fewer are; -1: error. */
int slot_threads(const struct slots *s, struct comm *comm, struct error *err);

#endif
