/* Table of the ways for ranks to learn together (strategy_row.h). */
#ifndef TRAINER_APP_STEP_STRATEGY_H
#define TRAINER_APP_STEP_STRATEGY_H

#include "trainer/app/step/strategy_row.h"

/* In the order of the table, and of the choices of --strategy. */
enum strategy_kind { STRATEGY_ALLREDUCE, STRATEGY_SHARDED, STRATEGY_LOCAL_SGD, STRATEGY_KINDS };

/* Their names, in the order of the kinds, then NULL. */
extern const char *const STRATEGY_NAMES[STRATEGY_KINDS + 1];
const struct strategy *strategy_of(enum strategy_kind kind);

#endif
