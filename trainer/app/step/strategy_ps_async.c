/* Servers update the parameters by each worker's gradients as they come (trainer/shard/
 * async_server.h). A worker sends them at the end of its backward pass and gets weights back, at
 * once unless it is too far ahead of the slowest one.
 *
 * Between two meetings workers have no collective, so that one that is lost costs only itself: at
 * the next meeting the others narrow their communicator to those that are there. */
#include "trainer/app/step/strategy_row.h"

#include "common/clock.h"
#include "common/log/log.h"
#include "common/str.h"
#include "trainer/app/step/strategy_shards.h"
#include "trainer/shard/async_worker.h"
#include "trainer/telemetry/run_log.h"
#include "trainer/telemetry/timeline.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)ASYNC_FLAGS == (int)STORE_FLAGS, "a message has room for all flags");

/* Workers are numbered by their rank at the start, whatever the communicator has become since. */
struct ps_async {
    struct async_worker worker;
    bool brings_weights;                       /* the last step's reply does */
    bool met;                                  /* since the last step */
    unsigned char gone[ASYNC_WORKERS_MAX];     /* lost, by rank at the start */
    unsigned char left_out[ASYNC_WORKERS_MAX]; /* of those, no longer in the communicator */
    int workers;                               /* at the start */
};

/* All trained parameters are one bucket. Gradients are means over this worker's micro-batches only:
 * no other rank's are added. */
static int open_async(struct stepper *s, struct error *err) {
    struct shard_service service = {.async = 1, .staleness = (int32_t)s->staleness};
    const size_t begins[] = {0, s->net->store.trained};
    s->async = calloc(1, sizeof(*s->async));
    if (s->async == NULL)
        return error_no_memory(err, "messages to servers");
    s->async->workers = comm_size(s->comm);
    s->rule.step.scale = 1.0F / (float)s->accumulate;
    return strategy_shards_open(s, begins, 1, &service, err) != 0
               ? -1
               : async_worker_open(&s->async->worker, s->shards, err);
}

/* Tells the servers that this worker ends, with the run's exit code. An error is ignored, as they
 * may be gone already. */
static void close_async(struct stepper *s) {
    const struct async_request end = {.kind = ASYNC_END, .argument = s->exit_code};
    struct error ignored;
    if (s->async != NULL && s->async->worker.parts != NULL) {
        (void)async_worker_send(&s->async->worker, &end, NULL, &ignored);
        async_worker_done(&s->async->worker);
    }
    strategy_shards_done(s);
    free(s->async);
    s->async = NULL;
}

/* Rank 0 gives the servers the values that they start from; other ranks only note that it is
 * done. */
static int deal(struct stepper *s, struct error *err) {
    for (int i = 0; comm_rank(s->comm) == 0 && i < SHARD_ARENAS; i++) {
        const float *values = s->net->store.arena[STRATEGY_ARENAS[i]];
        const struct async_request request = {
            .kind = ASYNC_DEAL, .argument = i, .updates = s->updates};
        if (values != NULL && async_worker_send(&s->async->worker, &request, values, err) != 0)
            return -1;
    }
    s->dealt = true;
    return 0;
}

/* Nothing is sent before the whole backward pass is done: a worker's request carries the gradients
 * of the step as one. */
static int bucket(struct stepper *s, int index, struct error *err) {
    (void)s, (void)index, (void)err;
    return 0;
}

/* Rank 0 says which workers are lost, as soon as it learns of it. */
static void note_lost(struct stepper *s, const struct async_reply *reply) {
    struct ps_async *a = s->async;
    for (int i = 0; i < a->workers; i++) {
        if (reply->gone[i] == 0 || a->gone[i] != 0)
            continue;
        a->gone[i] = 1;
        if (comm_rank(s->comm) != 0)
            continue;
        const struct metric_field fields[] = {
            {"step", (double)s->number}, {"rank", i}, {"workers", (double)reply->live}};
        run_log_add("worker-lost", fields, sizeof(fields) / sizeof(fields[0]));
        log_warning("rank %d is lost after step %lld: %u worker%s go%s on; its part of the data is "
                    "left out until the job starts again",
                    i, (long long)s->number, reply->live, STR_PLURAL(reply->live),
                    reply->live == 1 ? "es" : "");
    }
}

/* The flags of a worker as bits of its request. */
static unsigned wishes_of(const float *flags) {
    return (flags[FLAG_STOP] > 0 ? ASYNC_STOP : 0U) | (flags[FLAG_SAVE] > 0 ? ASYNC_SAVE : 0U) |
           (flags[FLAG_FAILED] > 0 ? ASYNC_FAIL : 0U);
}

/* The flags become what all do after this step, and metrics those of all that has come since. A
 * worker that has given the step up leaves with it, whatever others still do. */
static void take_flags(struct stepper *s, const struct async_reply *reply, float *flags) {
    if (flags[FLAG_VOID] > 0)
        return;
    flags[FLAG_STOP] = (reply->wishes & ASYNC_STOP) != 0 ? 1.0F : 0.0F;
    flags[FLAG_SAVE] = (reply->wishes & ASYNC_SAVE) != 0 ? 1.0F : 0.0F;
    flags[FLAG_FAILED] = (reply->wishes & ASYNC_FAIL) != 0 ? 1.0F : 0.0F;
    for (int i = 0, flag; (flag = step_flag_of(s->net->model, i)) >= 0; i++)
        flags[flag] += (float)reply->flags[flag];
}

/* A step that does not count is sent without gradients, so that the servers know that this worker
 * still keeps up. */
static int send_step(struct stepper *s, const float *flags, bool counts, struct error *err) {
    const struct store *store = &s->net->store;
    struct async_request request = {
        .kind = counts ? ASYNC_PUSH : ASYNC_VOID,
        .wishes = wishes_of(flags),
        .clock = s->number,
        .rate = (double)s->rule.step.rate,
        .momentum = (double)s->rule.step.momentum,
        .squares = counts && s->rule.clip_norm > 0
                       ? optimizer_square_sum(step_gradients(s), store->trained)
                       : 0};
    memcpy(request.flags, flags, sizeof(request.flags));
    s->async->met = false;
    if (!s->dealt && deal(s, err) != 0)
        return -1;
    strategy_shards_forget(s);
    return async_worker_send(&s->async->worker, &request, counts ? step_gradients(s) : NULL, err);
}

/* Those that are lost leave the communicator, so that collectives continue without them. */
static int narrow(struct stepper *s, struct error *err) {
    struct ps_async *a = s->async;
    unsigned char gone[ASYNC_WORKERS_MAX] = {0};
    int place = 0;
    bool some = false;
    for (int i = 0; i < a->workers; i++) {
        if (a->left_out[i] != 0)
            continue;
        gone[place++] = a->gone[i];
        some = some || a->gone[i] != 0;
        a->left_out[i] = a->gone[i];
    }
    return some ? comm_narrow(s->comm, gone, err) : 0;
}

/* Receives what the servers keep in ARENA, if the network has it. */
static int fetch(struct stepper *s, enum shard_arena arena, struct error *err) {
    float *values = s->net->store.arena[STRATEGY_ARENAS[arena]];
    return values != NULL ? async_worker_fetch(&s->async->worker, values, err) : 0;
}

/* Waits until all have come to the step after which they meet. */
static int meet_others(struct stepper *s, struct error *err) {
    const struct async_request request = {.kind = ASYNC_MEET};
    const struct async_reply *reply = NULL;
    const bool first = comm_rank(s->comm) == 0;
    if (async_worker_send(&s->async->worker, &request, NULL, err) != 0 ||
        async_worker_hear(&s->async->worker, &reply, err) != 0)
        return -1;
    s->gathered = true;
    if (fetch(s, SHARD_WEIGHTS, err) != 0 ||
        (first && (fetch(s, SHARD_MOMENTUM, err) != 0 || fetch(s, SHARD_SECOND, err) != 0)) ||
        fetch(s, SHARD_AVERAGE, err) != 0)
        return -1;
    store_changed(&s->net->store);
    note_lost(s, reply);
    s->async->met = true;
    return narrow(s, err);
}

/* Sends this worker's step and waits for the answer. A worker that is too far ahead gets it late
 * (staleness). */
static int meet(struct stepper *s, bool *ret_finite, struct error *err) {
    const struct async_reply *reply = NULL;
    float *flags = step_gradients(s) + s->net->store.flags;
    *ret_finite = optimizer_finite(step_gradients(s), s->net->store.count[STORE_GRADIENTS]);
    const bool is_void = flags[FLAG_VOID] > 0, empty = !(flags[FLAG_IMAGES] > 0);
    if (!is_void && empty)
        return error_set(
            err, EXIT_CODE_DATA,
            "none of this rank's pictures can be used: there is nothing to learn from");
    s->async->brings_weights = *ret_finite && !is_void;
    if (send_step(s, flags, s->async->brings_weights, err) != 0)
        return -1;
    const int64_t begun = clock_now();
    if (async_worker_hear(&s->async->worker, &reply, err) != 0)
        return -1;
    s->waited += clock_now() - begun;
    timeline_end(s->timeline, TIMELINE_RANKS, begun, s->number);
    note_lost(s, reply);
    take_flags(s, reply, flags);
    return is_void ? meet_others(s, err) : 0;
}

/* The new weights come from the servers and are not computed here. */
static int update(struct stepper *s, struct error *err) {
    const int64_t begun = clock_now();
    if (async_worker_fetch(&s->async->worker, s->net->store.arena[STORE_PARAMETERS], err) != 0)
        return -1;
    s->waited += clock_now() - begun;
    return 0;
}

/* Called before weights are saved or scored. */
static int collect(struct stepper *s, struct error *err) {
    /* Before the first step all have what they have loaded. */
    return !s->dealt || s->async->met ? 0 : meet_others(s, err);
}

/* Between two meetings only constants are equal on all ranks. */
static bool agrees(const struct stepper *s, enum store_arena arena) {
    (void)s;
    return arena == STORE_CONSTANTS;
}

const struct strategy STRATEGY_PS_ASYNC_ROW = {.open = open_async,
                                               .done = close_async,
                                               .bucket = bucket,
                                               .meet = meet,
                                               .update = update,
                                               .collect = collect,
                                               .agrees = agrees};
