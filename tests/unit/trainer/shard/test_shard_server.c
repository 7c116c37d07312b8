#include "tests/support/unit.h"
#include "tests/unit/trainer/comm/tcp/rank_threads.h"
#include "trainer/shard/shard_server.h"

#include <stdlib.h>
#include <string.h>

static const struct shard_tensor TENSORS[] = {{0, 200, 0}, {208, 300, 1}};
static const size_t BUCKETS[] = {0, 208, 508};
static const struct shard_layout LAYOUT = {BUCKETS, 2, TENSORS, 2};
enum { COUNT = 508, WORKERS = 2, STEPS = 4, CODE = 143 };

static const struct shard_service SERVICE = {.rule = {.step = {.kind = OPTIMIZER_ADAMW,
                                                               .momentum = 0.9F,
                                                               .scale = 0.5F,
                                                               .second = 0.99F,
                                                               .epsilon = 1e-8F},
                                                      .groups = {{1, 0.01F, 0}, {1, 0, 0}}},
                                             .count = COUNT,
                                             .keeps = {1, 1, 1, 0}};

static void hear(void *user, uint64_t updates) {
    *(uint64_t *)user = updates;
}

static float gradient_of(int rank, int step, size_t i) {
    return (float)((i * 31 + (size_t)(rank * 7 + step)) % 17) - 8;
}

/* What servers and workers make of steps together, by one alone. */
static void alone(float *arenas[SHARD_ARENAS]) {
    float *gradients = calloc(COUNT, sizeof(*gradients));
    for (int step = 0; step < STEPS; step++) {
        struct optimizer_step at = SERVICE.rule.step;
        at.rate = 0.5F / (float)(step + 1);
        at = optimizer_at(at, step + 1);
        for (size_t i = 0; i < COUNT; i++)
            gradients[i] = gradient_of(0, step, i) + gradient_of(1, step, i);
        const struct optimizer_arenas all = {
            arenas[SHARD_WEIGHTS],
            gradients,
            {.momentum = arenas[SHARD_MOMENTUM], .second = arenas[SHARD_SECOND]}};
        for (int t = 0; t < 2; t++)
            optimizer_update_slice(&at, &SERVICE.rule.groups[t], &all, TENSORS[t].first,
                                   TENSORS[t].count);
    }
    free(gradients);
}

static bool step(struct shards *s, float *weights, float *gradients, int number, bool hold) {
    struct shard_verdict v = {
        .hold = hold, .rate = (double)(0.5F / (float)(number + 1)), .momentum = (double)0.9F};
    const struct optimizer_arenas arenas = {.weights = weights, .gradients = gradients};
    float order = 0;
    uint64_t ticket = 0;
    v.update = number + 1;
    for (size_t i = 0; i < COUNT; i++)
        gradients[i] = gradient_of(comm_rank(s->comm), number, i);
    if (shard_server_order(s, SHARD_STEP, 0, &order, NULL) != 0)
        return false;
    for (int b = 0; b < s->bucket_count; b++)
        if (shards_sum_start(s, b, gradients, &ticket, NULL) != 0)
            return false;
    if (comm_wait(s->comm, ticket, NULL) != 0)
        return false;
    shards_look(s, gradients, false, &v);
    if (shards_judge(s, &v, NULL) != 0 || (v.hold > 0) != hold)
        return false;
    return hold || (shards_update(s, &SERVICE.rule, &v, &arenas, NULL) == 0 &&
                    shards_spread(s, weights, WORKERS, NULL) == 0);
}

static bool move(struct shards *s, enum shard_order order, int arena, float *values) {
    float sent = 0;
    if (shard_server_order(s, order, arena, &sent, NULL) != 0)
        return false;
    return (order == SHARD_DEAL ? shards_deal(s, values, NULL)
                                : shards_spread(s, values, 1, NULL)) == 0;
}

static bool work(struct comm *c) {
    float *own[SHARD_ARENAS] = {0}, *expected[SHARD_ARENAS] = {0}, order = 0;
    float *gradients = calloc(COUNT, sizeof(*gradients));
    struct shards s;
    bool ok = shards_open(&s, c, WORKERS, &LAYOUT, NULL) == 0 &&
              shard_server_tell(c, &LAYOUT, &SERVICE, NULL) == 0;
    for (int a = SHARD_WEIGHTS; a <= SHARD_SECOND; a++) {
        own[a] = calloc(COUNT, sizeof(float));
        expected[a] = calloc(COUNT, sizeof(float));
        for (size_t i = 0; a == SHARD_WEIGHTS && i < COUNT; i++)
            own[a][i] = expected[a][i] = (float)i / COUNT;
        ok = ok && move(&s, SHARD_DEAL, a, own[a]);
    }
    alone(expected);
    for (int i = 0; ok && i < STEPS; i++)
        ok = step(&s, own[SHARD_WEIGHTS], gradients, i, true) &&
             step(&s, own[SHARD_WEIGHTS], gradients, i, false);
    ok = ok && memcmp(own[SHARD_WEIGHTS], expected[SHARD_WEIGHTS], COUNT * sizeof(float)) == 0;
    for (int a = SHARD_MOMENTUM; a <= SHARD_SECOND; a++)
        ok = ok && move(&s, SHARD_GATHER, a, own[a]) &&
             (comm_rank(c) != 0 || memcmp(own[a], expected[a], COUNT * sizeof(float)) == 0);
    ok = ok && shard_server_order(&s, SHARD_END, CODE, &order, NULL) == 0 &&
         comm_barrier(c, NULL) == 0;
    for (int a = 0; a < SHARD_ARENAS; a++) {
        free(own[a]);
        free(expected[a]);
    }
    free(gradients);
    shards_done(&s);
    return ok;
}

static bool play(struct comm *c, void *context) {
    uint64_t updates = 0;
    int code = 0;
    (void)context;
    if (comm_rank(c) < WORKERS)
        return work(c);
    return shard_server_run(c, WORKERS, &(struct shard_listener){hear, &updates}, &code, NULL) ==
               0 &&
           code == CODE && updates == STEPS && comm_barrier(c, NULL) == 0;
}

static void servers_update_what_workers_send(void) {
    CU_ASSERT_EQUAL(rank_threads_all(WORKERS + 1, play, NULL), WORKERS + 1);
    CU_ASSERT_EQUAL(rank_threads_all(WORKERS + 3, play, NULL), WORKERS + 3);
}

/* A worker that is gone ends the servers. */
static bool leave(struct comm *c, void *context) {
    uint64_t updates = 0;
    int code = 0;
    (void)context;
    if (comm_rank(c) < WORKERS)
        return shard_server_tell(c, &LAYOUT, &SERVICE, NULL) == 0;
    return shard_server_run(c, WORKERS, &(struct shard_listener){hear, &updates}, &code, NULL) != 0;
}

static void servers_do_not_outlive_workers(void) {
    CU_ASSERT_EQUAL(rank_threads_all(WORKERS + 1, leave, NULL), WORKERS + 1);
}

UNIT_SUITE("shard.shard_server", UNIT(servers_update_what_workers_send),
           UNIT(servers_do_not_outlive_workers))
