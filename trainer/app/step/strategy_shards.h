/* Functions shared by strategies with a divided optimizer (strategy_sharded.c,
 * strategy_ps_async.c). */
#ifndef TRAINER_APP_STEP_STRATEGY_SHARDS_H
#define TRAINER_APP_STEP_STRATEGY_SHARDS_H

#include "common/error.h"
#include "trainer/app/step/step.h"
#include "trainer/shard/shard_server.h"

#include <stddef.h>

/* Arenas of the store, as servers number them. */
extern const enum store_arena STRATEGY_ARENAS[SHARD_ARENAS];

/* Opens the stepper's shards over COUNT buckets of parameters, the first of which begins at
 * BEGINS[0] and the last of which ends at BEGINS[COUNT]. Servers, if there are some, get the order
 * to serve as SERVICE says; what it does not have yet is filled in. */
int strategy_shards_open(struct stepper *s, const size_t *begins, int count,
                         struct shard_service *service, struct error *err);
void strategy_shards_done(struct stepper *s);
/* Frees the memory of what other ranks keep of the optimizer, if a checkpoint has brought it
 * here. */
void strategy_shards_forget(struct stepper *s);

#endif
