#include "trainer/app/step/strategy.h"

const char *const STRATEGY_NAMES[STRATEGY_KINDS + 1] = {
    [STRATEGY_ALLREDUCE] = "allreduce",
    [STRATEGY_SHARDED] = "sharded",
    [STRATEGY_LOCAL_SGD] = "local-sgd",
};

static const struct strategy *const ROWS[STRATEGY_KINDS] = {
    [STRATEGY_ALLREDUCE] = &STRATEGY_ALLREDUCE_ROW,
    [STRATEGY_SHARDED] = &STRATEGY_SHARDED_ROW,
    [STRATEGY_LOCAL_SGD] = &STRATEGY_LOCAL_SGD_ROW,
};

const struct strategy *strategy_of(enum strategy_kind kind) {
    return ROWS[kind];
}
