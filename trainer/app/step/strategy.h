/* Table of the ways for ranks to learn together (strategy_row.h). */
#ifndef TRAINER_APP_STEP_STRATEGY_H
#define TRAINER_APP_STEP_STRATEGY_H

#include "trainer/app/options/options.h"
#include "trainer/app/step/strategy_row.h"

const struct strategy *strategy_of(enum option_strategy kind);

#endif
