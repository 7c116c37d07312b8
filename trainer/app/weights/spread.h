/* One rank's parameters for all. */
#ifndef TRAINER_APP_WEIGHTS_SPREAD_H
#define TRAINER_APP_WEIGHTS_SPREAD_H

#include "common/error.h"
#include "trainer/comm/comm.h"
#include "trainer/graph/program/store.h"

#include <stdbool.h>

/* Rank 0's parameters, statistics and constants, and where MOMENTUM is true what the optimizer
 * keeps of them; all ranks together. */
int spread_store(struct store *store, struct comm *comm, bool momentum, struct error *err);

#endif
