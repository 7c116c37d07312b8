/* The optimizer is divided over the ranks, or over those that do nothing else (sharded and ps-sync;
 * trainer/shard/). */
#include "trainer/app/step/strategy_row.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "trainer/app/step/strategy_shards.h"
#include "trainer/telemetry/timeline.h"

#include <stdlib.h>

/* The buckets of the gradients, without what is not trained and the flags. Canvases have the same
 * ones. */
static void list_buckets(const struct stepper *s, size_t *begins) {
    const struct program *program = &s->pass->program;
    const size_t end = s->net->store.trained;
    for (int i = 0; i < program->bucket_count; i++)
        begins[i] = program->buckets[i].first < end ? program->buckets[i].first : end;
    begins[program->bucket_count] = end;
}

static int open_shards(struct stepper *s, struct error *err) {
    const int buckets = s->pass->program.bucket_count;
    struct shard_service service = {0};
    cleanup_free size_t *begins = calloc((size_t)buckets + 1, sizeof(*begins));
    if (begins == NULL)
        return error_no_memory(err, "shares of the optimizer");
    list_buckets(s, begins);
    return strategy_shards_open(s, begins, buckets, &service, err);
}

static void close_shards(struct stepper *s) {
    struct error ignored;
    if (s->shards != NULL && s->shards->serves &&
        shard_server_order(s->shards, SHARD_END, s->exit_code, &s->order, &ignored) == 0)
        (void)comm_barrier(s->comm, &ignored);
    strategy_shards_done(s);
}

/* Gives servers what they keep from now on. */
static int deal(struct stepper *s, struct error *err) {
    for (int i = 0; i < SHARD_ARENAS; i++) {
        float *values = s->net->store.arena[STRATEGY_ARENAS[i]];
        if (values != NULL && (shard_server_order(s->shards, SHARD_DEAL, i, &s->order, err) != 0 ||
                               shards_deal(s->shards, values, err) != 0))
            return -1;
    }
    s->dealt = true;
    return 0;
}

/* Tells servers that a step comes. */
static int announce_step(struct stepper *s, struct error *err) {
    if (!s->dealt && deal(s, err) != 0)
        return -1;
    return shard_server_order(s->shards, SHARD_STEP, 0, &s->order, err);
}

static int bucket(struct stepper *s, int index, struct error *err) {
    float *flags = step_gradients(s) + s->net->store.flags;
    if (index == 0 && s->shards->serves && announce_step(s, err) != 0)
        return -1;
    if (shards_sum_start(s->shards, index, step_gradients(s), &s->ticket, err) != 0)
        return -1;
    return index < s->pass->program.bucket_count - 1
               ? 0
               : comm_sum_start(s->comm, flags, STORE_FLAGS, COMM_F32, &s->ticket, err);
}

/* Adds the time since BEGUN to that of waiting. */
static void add_wait(struct stepper *s, int64_t begun) {
    s->waited += clock_now() - begun;
    timeline_end(s->timeline, TIMELINE_RANKS, begun, s->number);
}

static int meet(struct stepper *s, bool *ret_finite, struct error *err) {
    const float *flags = step_gradients(s) + s->net->store.flags;
    if (strategy_wait(s, s->comm, s->ticket, err) != 0)
        return -1;
    const bool finite = strategy_flags_finite(s);
    struct shard_verdict v = {
        .hold = finite && !(flags[FLAG_VOID] > 0) && flags[FLAG_IMAGES] > 0 ? 0 : 1,
        .rate = (double)s->rule.step.rate,
        .momentum = (double)s->rule.step.momentum,
        .update = (double)(s->updates + 1)};
    shards_look(s->shards, step_gradients(s), s->rule.clip_norm > 0, &v);
    const int64_t begun = clock_now();
    if (shards_judge(s->shards, &v, err) != 0)
        return -1;
    add_wait(s, begun);
    *ret_finite = finite && !(v.bad > 0);
    s->squares = v.squares;
    return 0;
}

static int update(struct stepper *s, struct error *err) {
    const struct optimizer_arenas arenas = strategy_arenas(s);
    const struct shard_verdict v = {.squares = s->squares,
                                    .rate = (double)s->rule.step.rate,
                                    .momentum = (double)s->rule.step.momentum,
                                    .update = (double)s->updates};
    strategy_shards_forget(s);
    if (shards_update(s->shards, &s->rule, &v, &arenas, err) != 0)
        return -1;
    const int64_t begun = clock_now();
    if (shards_spread(s->shards, arenas.weights, s->shards->workers, err) != 0)
        return -1;
    add_wait(s, begun);
    return 0;
}

/* The first READERS ranks get ARENA from its owners. */
static int gather(struct stepper *s, enum shard_arena arena, int readers, struct error *err) {
    float *values = s->net->store.arena[STRATEGY_ARENAS[arena]];
    if (values == NULL)
        return 0;
    if (s->shards->serves &&
        shard_server_order(s->shards, readers == 1 ? SHARD_GATHER : SHARD_SPREAD, (int)arena,
                           &s->order, err) != 0)
        return -1;
    return shards_spread(s->shards, values, readers, err);
}

static int collect(struct stepper *s, struct error *err) {
    if (s->shards->serves && !s->dealt) /* all have what they have loaded */
        return 0;
    s->gathered = true;
    return gather(s, SHARD_MOMENTUM, 1, err) != 0 || gather(s, SHARD_SECOND, 1, err) != 0
               ? -1
               : gather(s, SHARD_AVERAGE, s->shards->workers, err);
}

static bool agrees(const struct stepper *s, enum store_arena arena) {
    (void)s;
    return !store_is_kept(arena);
}

const struct strategy STRATEGY_SHARDED_ROW = {.open = open_shards,
                                              .done = close_shards,
                                              .bucket = bucket,
                                              .meet = meet,
                                              .update = update,
                                              .collect = collect,
                                              .agrees = agrees};
