#include "trainer/app/step/strategy.h"

static const struct strategy *const ROWS[OPTION_STRATEGIES] = {
    [OPTION_ALLREDUCE] = &STRATEGY_ALLREDUCE_ROW, [OPTION_SHARDED] = &STRATEGY_SHARDED_ROW,
    [OPTION_LOCAL_SGD] = &STRATEGY_LOCAL_SGD_ROW, [OPTION_PS_SYNC] = &STRATEGY_SHARDED_ROW,
    [OPTION_PS_ASYNC] = &STRATEGY_PS_ASYNC_ROW,
};

const struct strategy *strategy_of(enum option_strategy kind) {
    return ROWS[kind];
}
