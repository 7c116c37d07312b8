#include "common/clock.h"
#include "tests/support/held_clock.h"
#include "tests/support/unit.h"
#include "tests/unit/trainer/comm/tcp/rank_threads.h"
#include "trainer/comm/comm_driver.h"
#include "trainer/shard/async_clocks.h"
#include "trainer/shard/async_server.h"
#include "trainer/shard/async_worker.h"
#include "trainer/shard/shard_server.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct shard_tensor TENSORS[] = {{0, 200, 0}, {208, 300, 1}};
enum { COUNT = 508, STEPS = 6, CODE = 143 };
static const int64_t LATE = ASYNC_STEP_SECONDS * CLOCK_SECOND;
static const size_t BEGINS[] = {0, COUNT};
static const struct shard_layout LAYOUT = {BEGINS, 1, TENSORS, 2};

static struct shard_service service_of(int staleness) {
    return (struct shard_service){.rule = {.step = {.kind = OPTIMIZER_ADAMW,
                                                    .momentum = 0.9F,
                                                    .scale = 1,
                                                    .second = 0.99F,
                                                    .epsilon = 1e-8F,
                                                    .average = 0.9F},
                                           .groups = {{1, 0.01F, 0}, {1, 0, 0}}},
                                  .count = COUNT,
                                  .keeps = {1, 1, 1, 1},
                                  .async = 1,
                                  .staleness = staleness};
}

static float gradient_of(int rank, int64_t step, size_t i) {
    return (float)((i * 31 + (size_t)(rank * 7 + (int)step)) % 17) - 8;
}

struct scene {
    int workers;
    int loses; /* the worker that disconnects after its second step; 0: none */
};

static void heard(void *user, uint64_t updates) {
    *(uint64_t *)user = updates;
}

/* A worker and its data. */
struct learner {
    struct shards shards;
    struct async_worker worker;
    float arena[SHARD_ARENAS][COUNT];
    float gradients[COUNT];
    const struct async_reply *reply;
};

static bool open_learner(struct learner *l, struct comm *c, const struct scene *scene) {
    const struct shard_service service = service_of(2);
    bool ok = shards_open(&l->shards, c, scene->workers, &LAYOUT, NULL) == 0 &&
              shard_server_tell(c, &LAYOUT, &service, NULL) == 0 &&
              async_worker_open(&l->worker, &l->shards, NULL) == 0;
    for (int a = 0; ok && comm_rank(c) == 0 && a < SHARD_ARENAS; a++) {
        const struct async_request deal = {.kind = ASYNC_DEAL, .argument = a};
        for (size_t i = 0; i < COUNT; i++)
            l->arena[a][i] = a == SHARD_WEIGHTS || a == SHARD_AVERAGE ? (float)i / COUNT : 0;
        ok = async_worker_send(&l->worker, &deal, l->arena[a], NULL) == 0;
    }
    return ok;
}

static bool take_step(struct learner *l, int rank, int64_t number) {
    struct async_request push = {.kind = ASYNC_PUSH,
                                 .clock = number,
                                 .rate = 0.5 / (double)number,
                                 .momentum = (double)0.9F,
                                 .flags = {[2] = 1}};
    for (size_t i = 0; i < COUNT; i++)
        l->gradients[i] = gradient_of(rank, number, i);
    return async_worker_send(&l->worker, &push, l->gradients, NULL) == 0 &&
           async_worker_hear(&l->worker, &l->reply, NULL) == 0 &&
           async_worker_fetch(&l->worker, l->arena[SHARD_WEIGHTS], NULL) == 0;
}

static bool meet(struct learner *l, int rank) {
    const struct async_request meeting = {.kind = ASYNC_MEET};
    bool ok = async_worker_send(&l->worker, &meeting, NULL, NULL) == 0 &&
              async_worker_hear(&l->worker, &l->reply, NULL) == 0;
    for (int a = 0; ok && a < SHARD_ARENAS; a++)
        if (rank == 0 || a == SHARD_WEIGHTS || a == SHARD_AVERAGE)
            ok = async_worker_fetch(&l->worker, l->arena[a], NULL) == 0;
    return ok;
}

static bool leave(struct learner *l) {
    const struct async_request end = {.kind = ASYNC_END, .argument = CODE};
    return async_worker_send(&l->worker, &end, NULL, NULL) == 0;
}

/* Returns whether the steps of one worker with servers give the same result as without servers. */
static bool as_one_alone(const struct learner *l) {
    float arena[SHARD_ARENAS][COUNT] = {{0}}, gradients[COUNT];
    const struct shard_service service = service_of(0);
    for (size_t i = 0; i < COUNT; i++)
        arena[SHARD_WEIGHTS][i] = arena[SHARD_AVERAGE][i] = (float)i / COUNT;
    for (int64_t number = 1; number <= STEPS; number++) {
        struct optimizer_step at = service.rule.step;
        at.rate = (float)(0.5 / (double)number);
        at = optimizer_at(at, number);
        for (size_t i = 0; i < COUNT; i++)
            gradients[i] = gradient_of(0, number, i);
        const struct optimizer_arenas all = {arena[SHARD_WEIGHTS],
                                             gradients,
                                             {.momentum = arena[SHARD_MOMENTUM],
                                              .second = arena[SHARD_SECOND],
                                              .average = arena[SHARD_AVERAGE]}};
        for (int t = 0; t < 2; t++)
            optimizer_update_slice(&at, &service.rule.groups[t], &all, TENSORS[t].first,
                                   TENSORS[t].count);
    }
    return memcmp(arena, l->arena, sizeof(arena)) == 0;
}

static bool work(struct comm *c, const struct scene *scene) {
    const int rank = comm_rank(c);
    struct learner *l = calloc(1, sizeof(*l));
    bool ok = l != NULL && open_learner(l, c, scene);
    for (int64_t number = 1; ok && number <= STEPS; number++) {
        ok = take_step(l, rank, number);
        if (number == 2 && scene->loses > 0 && rank == scene->loses)
            break;
    }
    if (ok && (scene->loses == 0 || rank != scene->loses)) {
        const unsigned live = (unsigned)scene->workers - (scene->loses > 0);
        ok = meet(l, rank) && l->reply->live == live &&
             (scene->loses == 0 || l->reply->gone[scene->loses] == 1) &&
             (scene->workers > 1 || as_one_alone(l)) && leave(l);
    }
    async_worker_done(&l->worker);
    shards_done(&l->shards);
    free(l);
    return ok;
}

static bool play(struct comm *c, void *context) {
    const struct scene *scene = context;
    const struct shard_listener listener = {heard, &(uint64_t){0}};
    int code = 0;
    if (comm_rank(c) < scene->workers)
        return work(c, scene);
    return shard_server_run(c, scene->workers, &listener, &code, NULL) == 0 && code == CODE;
}

static void one_worker_learns_as_if_alone(void) {
    struct scene scene = {.workers = 1};
    CU_ASSERT_EQUAL(rank_threads_all(2, play, &scene), 2);
    CU_ASSERT_EQUAL(rank_threads_all(4, play, &scene), 4);
}

static void several_meet_with_equal_weights(void) {
    struct scene scene = {.workers = 3};
    CU_ASSERT_EQUAL(rank_threads_all(5, play, &scene), 5);
}

static void a_lost_worker_costs_only_itself(void) {
    struct scene scene = {.workers = 3, .loses = 2};
    CU_ASSERT_EQUAL(rank_threads_all(5, play, &scene), 5);
}

/* Rank 0 disconnects without a message, so its servers fail. */
static bool play_without_first(struct comm *c, void *context) {
    const struct scene *scene = context;
    const struct shard_listener listener = {heard, &(uint64_t){0}};
    int code = 0;
    struct error err = {0};
    if (comm_rank(c) < scene->workers) {
        const struct shard_service service = service_of(1);
        return shard_server_tell(c, &LAYOUT, &service, NULL) == 0;
    }
    return shard_server_run(c, scene->workers, &listener, &code, &err) != 0 &&
           err.code == EXIT_CODE_INTERNAL && strstr(err.text, "rank 0 is lost") != NULL;
}

static void servers_do_not_outlive_rank_0(void) {
    struct scene scene = {.workers = 1};
    CU_ASSERT_EQUAL(rank_threads_all(2, play_without_first, &scene), 2);
}

/* A communicator that has nothing but connections. */
struct wired {
    struct comm base;
    int fd[2];
};

static int socket_of(struct comm *c, int rank) {
    return ((struct wired *)c)->fd[rank];
}

/* Runs a server with two workers: worker 0 takes a step that changes nothing, and worker 1 sends
 * SIZE bytes. Then both are silent, so that worker 0 is late in the end. Returns worker 0's reply,
 * and how long all of it took. */
static struct async_reply answer_first(const void *bytes, size_t size, int64_t *ret_took) {
    static const struct comm_driver driver = {.socket = socket_of};
    struct wired wired = {.base = {.driver = &driver, .rank = 2, .size = 3}};
    struct shard_server server = {.service = service_of(0)};
    const struct shard_listener listener = {heard, &(uint64_t){0}};
    const struct async_request step = {.kind = ASYNC_VOID, .clock = 1};
    struct async_reply reply = {0};
    struct error err = {0};
    int far[2], code = 0;
    for (int i = 0; i < 2; i++) {
        int pair[2];
        CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
        far[i] = pair[0];
        wired.fd[i] = pair[1];
    }
    CU_ASSERT_EQUAL_FATAL(shards_open(&server.shards, &wired.base, 2, &LAYOUT, NULL), 0);
    CU_ASSERT_EQUAL(write(far[0], &step, sizeof(step)), (ssize_t)sizeof(step));
    CU_ASSERT_EQUAL(write(far[1], bytes, size), (ssize_t)size);
    held_clock_begin();
    const int64_t begun = clock_now();
    CU_ASSERT_EQUAL(async_server_run(&server, &listener, &code, &err), -1);
    *ret_took = clock_now() - begun;
    held_clock_end();
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_INTERNAL);
    CU_ASSERT_EQUAL(read(far[0], &reply, sizeof(reply)), (ssize_t)sizeof(reply));
    for (int i = 0; i < 2; i++) {
        (void)close(far[i]);
        (void)close(wired.fd[i]);
    }
    shards_done(&server.shards);
    return reply;
}

/* Worker 1 is silent: as soon as it is late, worker 0 gets a reply. Worker 0 then stays silent, and
 * is late, too. */
static void silent_workers_are_lost_in_time(void) {
    int64_t took = 0;
    const struct async_reply reply = answer_first("", 0, &took);
    CU_ASSERT_TRUE(took >= 2 * LATE && took < 3 * LATE);
    CU_ASSERT_EQUAL(reply.live, 1);
    CU_ASSERT_EQUAL(reply.gone[1], 1);
}

/* A worker that sends an invalid request is lost at once, without a wait until it is late. */
static void workers_that_say_what_none_does_are_lost(void) {
    static const struct async_request rows[] = {{.kind = 0},
                                                {.kind = ASYNC_KINDS},
                                                {.kind = ASYNC_DEAL},
                                                {.kind = ASYNC_VOID, .clock = -1},
                                                {.kind = ASYNC_VOID, .clock = INT64_MAX},
                                                {.kind = ASYNC_VOID, .updates = INT64_MAX}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct {
            struct async_request request;
            float values[COUNT];
        } sent = {.request = rows[i]};
        int64_t took = 0;
        const struct async_reply reply = answer_first(&sent, sizeof(sent), &took);
        CU_ASSERT_TRUE(took >= LATE && took < 2 * LATE);
        CU_ASSERT_EQUAL(reply.gone[1], 1);
    }
}

UNIT_SUITE("shard.async_server", UNIT(one_worker_learns_as_if_alone),
           UNIT(several_meet_with_equal_weights), UNIT(a_lost_worker_costs_only_itself),
           UNIT(servers_do_not_outlive_rank_0), UNIT(silent_workers_are_lost_in_time),
           UNIT(workers_that_say_what_none_does_are_lost))
