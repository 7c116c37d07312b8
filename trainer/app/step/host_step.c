#include "trainer/app/step/host_step.h"

#include "common/clock.h"
#include "trainer/app/step/strategy_row.h"
#include "trainer/telemetry/timeline.h"

#include <stdlib.h>
#include <string.h>

/* Steps on a host, where every call has finished its work when it returns. What is exchanged with
 * other ranks, and when, is the strategy's choice (strategy_row.h): this file calls its rows at the
 * right moments.
 *
 * Micro-batches before the last add their gradients to `sum`. The last one adds that sum to its own
 * gradients, bucket by bucket, and sends each bucket as soon as it is complete, while the backward
 * pass continues.
 *
 * With the last bucket go the flags, so the metrics of all micro-batches have to be complete by
 * then. */

/* On failure host_close frees what was allocated. The extra element keeps malloc from returning
 * NULL for a network without statistics. */
static int host_open(struct stepper *s, struct error *err) {
    s->states = malloc((s->net->store.count[STORE_STATE] + 1) * sizeof(float));
    if (s->states == NULL)
        return error_no_memory(err, "running statistics before a step");
    if (s->accumulate > 1) {
        s->sum = calloc(s->net->store.count[STORE_GRADIENTS], sizeof(float));
        if (s->sum == NULL)
            return error_no_memory(err, "gradients of micro-batches");
    }
    return s->strategy->open != NULL ? s->strategy->open(s, err) : 0;
}

/* The strategy goes first: it may still use the stepper's memory. */
static void host_close(struct stepper *s) {
    if (s->strategy->done != NULL)
        s->strategy->done(s);
    free(s->sum);
    free(s->states);
    s->sum = NULL;
    s->states = NULL;
}

/* Metrics are sums over this rank's micro-batches; the all-reduce makes them sums over all
 * ranks. */
static void put_flags(struct stepper *s) {
    float *flags = step_gradients(s) + s->net->store.flags;
    step_say(s, flags);
    flags[FLAG_VOID] = s->void_step ? 1 : 0;
    for (int i = 0, flag; (flag = step_flag_of(s->net->model, i)) >= 0; i++)
        flags[flag] = s->metrics[i];
}

static int send_bucket(struct stepper *s, int index, struct error *err) {
    if (index == s->pass->program.bucket_count - 1)
        put_flags(s);
    return s->strategy->bucket(s, index, err);
}

/* Adds the metrics of the micro-batch after its forward pass. */
static int add_metrics(struct stepper *s, struct error *err) {
    float metrics[MODEL_METRICS_MAX];
    if (pass_metrics(s->pass, metrics, err) != 0)
        return -1;
    for (int i = 0; step_flag_of(s->net->model, i) >= 0; i++)
        s->metrics[i] += metrics[i];
    return 0;
}

/* Callback of the program, in the order of the buckets: the gradients of bucket INDEX are
 * complete. */
static int on_bucket(void *user, int index, struct error *err) {
    struct stepper *s = user;
    const struct program *program = &s->pass->program;
    const struct bucket *bucket = &program->buckets[index];
    float *slice = step_gradients(s) + bucket->first;
    bool last_bucket = index == program->bucket_count - 1;
    if (last_bucket && add_metrics(s, err) != 0)
        return -1;
    if (!s->last_micro) {
        optimizer_accumulate(s->sum + bucket->first, slice, bucket->count);
        return 0;
    }
    if (s->sum != NULL) {
        optimizer_accumulate(slice, s->sum + bucket->first, bucket->count);
        /* It is empty again for the next step. */
        memset(s->sum + bucket->first, 0, bucket->count * sizeof(*slice));
    }
    return send_bucket(s, index, err);
}

/* A forward pass updates the running statistics immediately, long before it is known whether the
 * step counts: this copy allows them to be restored. */
static void keep_states(struct stepper *s) {
    const struct store *store = &s->net->store;
    if (!s->states_kept)
        memcpy(s->states, store->arena[STORE_STATE], store->count[STORE_STATE] * sizeof(float));
    s->states_kept = true;
}

/* Puts the statistics back after a step that changes nothing. KEPT is false if no micro-batch
 * ran. */
static void restore_states(struct stepper *s, bool kept) {
    struct store *store = &s->net->store;
    if (kept)
        memcpy(store->arena[STORE_STATE], s->states, store->count[STORE_STATE] * sizeof(float));
}

/* Notes when the backward pass begins: with the first gradient operator. */
static int after_step(void *user, int step, struct error *err) {
    struct stepper *s = user;
    const struct graph *graph = s->pass->program.graph;
    (void)err;
    if (s->backward_at == 0 && step + 1 < graph->op_count && graph->ops[step + 1].forward >= 0)
        s->backward_at = clock_now();
    return 0;
}

/* Runs the program of a micro-batch with its two passes on the timeline. A program without a
 * gradient operator has only a forward pass. */
static int run_timed(struct stepper *s, struct program_hooks *hooks, struct error *err) {
    const int64_t begin = timeline_begin(s->timeline);
    hooks->after_step = after_step;
    s->backward_at = 0;
    if (program_run(&s->pass->program, hooks, err) != 0)
        return -1;
    const struct timeline_span forward = {begin, s->backward_at > 0 ? s->backward_at : clock_now(),
                                          s->number, TIMELINE_FORWARD};
    timeline_add(s->timeline, &forward);
    if (s->backward_at > 0)
        timeline_end(s->timeline, TIMELINE_BACKWARD, s->backward_at, s->number);
    return 0;
}

/* The timeline costs a callback after each operator, so it is only used when it is open. */
static int host_micro(struct stepper *s, const struct batch *batch, struct error *err) {
    struct program_hooks hooks = {.user = s, .bucket_ready = on_bucket};
    keep_states(s);
    if (pass_feed(s->pass, batch, err) != 0)
        return -1;
    return timeline_is_open(s->timeline) ? run_timed(s, &hooks, err)
                                         : program_run(&s->pass->program, &hooks, err);
}

/* All buckets are sent with zeros, because the other ranks wait for them. The flag FLAG_VOID then
 * tells all ranks to drop the step. */
static int host_give_up(struct stepper *s, struct error *err) {
    size_t count = s->net->store.count[STORE_GRADIENTS];
    memset(step_gradients(s), 0, count * sizeof(float));
    if (s->sum != NULL)
        memset(s->sum, 0, count * sizeof(float));
    s->void_step = true;
    for (int i = 0; i < s->pass->program.bucket_count; i++)
        if (send_bucket(s, i, err) != 0)
            return -1;
    return 0;
}

/* Meets the other ranks, reads the outcome, and updates the weights if the step counts. A skipped
 * step keeps its weights but has its penalty reported. */
static int host_finish(struct stepper *s, struct step_outcome *ret, struct error *err) {
    bool states_kept = s->states_kept, finite = false;
    s->waited = 0;
    if (s->strategy->meet(s, &finite, err) != 0)
        return error_wrap(err, "summing gradients");
    s->states_kept = false;
    memset(s->metrics, 0, sizeof(s->metrics));
    s->void_step = false;
    const struct backend_optimizer_state state = {
        .finite = finite, .loss_scale = 1, .updates = s->updates};
    if (step_read_outcome(s, step_gradients(s) + s->net->store.flags, &state,
                          (double)s->rule.step.rate, ret, err) != 0)
        return -1;
    if (s->penalty && ret->skipped && step_penalty(s, &ret->penalty, err) != 0)
        return -1;
    if (!ret->applied || ret->skipped) {
        restore_states(s, states_kept);
        return 0;
    }
    s->updates++;
    const int64_t updating = timeline_begin(s->timeline);
    if (s->strategy->update(s, err) != 0)
        return error_wrap(err, "new weights");
    store_changed(&s->net->store);
    timeline_end(s->timeline, TIMELINE_OPTIMIZER, updating, s->number);
    return s->penalty ? step_penalty(s, &ret->penalty, err) : 0;
}

const struct stepper_table HOST_STEP = {.open = host_open,
                                        .close = host_close,
                                        .take_micro = host_micro,
                                        .give_step_up = host_give_up,
                                        .finish_step = host_finish};
