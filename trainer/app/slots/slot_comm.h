/* Ranks of a communicator as slots see them. */
#ifndef TRAINER_APP_SLOTS_SLOT_COMM_H
#define TRAINER_APP_SLOTS_SLOT_COMM_H

#include "common/slots/slot_group.h"
#include "trainer/comm/comm.h"

/* COMM outlives the result. */
struct slot_group slot_comm_group(struct comm *comm);

#endif
