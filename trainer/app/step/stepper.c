#include "trainer/app/step/stepper.h"

#include "common/clock.h"
#include "trainer/app/step/device_stepper.h"
#include "trainer/app/step/strategy.h"
#include "trainer/telemetry/timeline.h"

#include <stdlib.h>
#include <string.h>

static int open_on_device(struct stepper *s, enum option_strategy strategy, struct error *err) {
    if (strategy != OPTION_ALLREDUCE)
        return error_set(err, EXIT_CODE_CONFIG,
                         "--strategy %s: a GPU's gradients are summed by allreduce alone; leave "
                         "--strategy out, or train on processors (--backend cpu)",
                         options_strategy_name(strategy));
    return device_stepper_open(&s->device, s, err);
}

int stepper_open(struct stepper *s, struct network *net, struct comm *comm,
                 const struct stepper_options *o, struct error *err) {
    *s = (struct stepper){.net = net,
                          .pass = &net->train[0],
                          .comm = comm,
                          .accumulate = o->accumulate,
                          .rule = {.step = o->optimizer, .clip_norm = o->clip_norm},
                          .decay_all = o->decay_all,
                          .decay_biases = o->decay_biases,
                          .device_sum = o->device_sum,
                          .strategy = strategy_of(o->strategy),
                          .sync_every = o->sync_every,
                          .all = o->all != NULL ? o->all : comm,
                          .check_operators = o->check_operators,
                          .loss_scale = o->loss_scale > 0 ? o->loss_scale : 1};
    s->rule.step.scale = 1.0F / ((float)comm_size(comm) * (float)o->accumulate);
    if (step_make_groups(s, o->optimizer.weight_decay, o->bias_rate > 0 ? o->bias_rate : 1, err) !=
        0)
        return -1;
    if (net->backend->table->device != NULL)
        return open_on_device(s, o->strategy, err);
    s->states = malloc((s->net->store.count[STORE_STATE] + 1) * sizeof(float));
    if (s->states == NULL)
        return error_no_memory(err, "running statistics before a step");
    if (o->accumulate > 1) {
        s->sum = calloc(net->store.count[STORE_GRADIENTS], sizeof(float));
        if (s->sum == NULL)
            return error_no_memory(err, "gradients of micro-batches");
    }
    return s->strategy->open != NULL ? s->strategy->open(s, err) : 0;
}

void stepper_done(struct stepper *s) {
    if (s->strategy != NULL && s->strategy->done != NULL)
        s->strategy->done(s);
    device_stepper_close(s->device);
    s->device = NULL;
    free(s->sum);
    free(s->states);
    free(s->group_of);
    s->sum = NULL;
    s->states = NULL;
    s->group_of = NULL;
}

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

/* Runs the program of a micro-batch with its two passes on the timeline. */
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

static int launch(struct stepper *s, const struct batch *batch, struct error *err) {
    const int64_t begin = timeline_begin(s->timeline);
    const int result = device_stepper_micro(s->device, batch, err);
    timeline_end(s->timeline, TIMELINE_LAUNCH, begin, s->number);
    return result;
}

int stepper_micro(struct stepper *s, const struct batch *batch, struct error *err) {
    struct program_hooks hooks = {.user = s, .bucket_ready = on_bucket};
    struct pass *pass = network_pass(s->net, s->net->train, batch, err);
    if (pass == NULL)
        return -1;
    s->pass = pass;
    s->last_micro = batch->micro == s->accumulate - 1;
    if (s->device != NULL)
        return launch(s, batch, err);
    keep_states(s);
    if (pass_feed(pass, batch, err) != 0)
        return -1;
    return timeline_is_open(s->timeline) ? run_timed(s, &hooks, err)
                                         : program_run(&pass->program, &hooks, err);
}

int stepper_give_up(struct stepper *s, struct error *err) {
    s->gave_up = true;
    if (s->device != NULL)
        return device_stepper_give_up(s->device, err);
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

static int finish_on_host(struct stepper *s, struct step_outcome *ret, struct error *err) {
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

int stepper_finish(struct stepper *s, double rate, struct step_outcome *ret, struct error *err) {
    *ret = (struct step_outcome){0};
    s->rule.step.rate = (float)rate;
    const int64_t begin = timeline_begin(s->timeline);
    int result = s->device != NULL ? device_stepper_finish(s->device, ret, err)
                                   : finish_on_host(s, ret, err);
    if (s->device != NULL)
        timeline_end(s->timeline, TIMELINE_DEVICE, begin, s->number);
    s->penalty = false;
    s->save = false;
    return result;
}

int stepper_settle(struct stepper *s, struct step_outcome *ret, struct error *err) {
    *ret = (struct step_outcome){0};
    return s->device != NULL ? device_stepper_settle(s->device, ret, err) : 0;
}

int stepper_collect(struct stepper *s, struct error *err) {
    return s->strategy->collect != NULL ? s->strategy->collect(s, err) : 0;
}

bool stepper_agrees(const struct stepper *s, enum store_arena arena) {
    return s->strategy->agrees(s, arena);
}
