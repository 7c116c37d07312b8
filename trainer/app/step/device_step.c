#include "trainer/app/step/device_step.h"

#include "common/clock.h"
#include "trainer/app/step/input_staging.h"
#include "trainer/app/step/tensor_norms.h"
#include "trainer/comm/device_sum.h"
#include "trainer/telemetry/timeline.h"

#include <stdlib.h>
#include <string.h>

/* Steps of a backend that works in a queue of its own. The host enqueues a whole step, records it
 * where the device can, and reads its outcome one step later, so that the device never waits for
 * the host. STEPS_AHEAD sets of mail make that safe.
 *
 * Nothing in a step may depend on a value that only the device knows: if a step counts is
 * decided by the optimizer's kernel from the flags, and the running statistics are restored
 * there as well. */

enum { GROUP = STORE_ALIGNMENT / sizeof(float), FLAG_BYTES = STORE_FLAGS * sizeof(float) };

/* The host prepares the next step while one is under way. */
enum { STEPS_AHEAD = 2 };

/* Events follow those of the program. */
enum { EVENT_FEED = STREAMS_EVENTS, EVENT_OUTCOME = EVENT_FEED + 2 };

/* What host and device exchange in a step, in memory that both can access. Two successive steps
 * use different ones, so that neither side overwrites what the other still reads. */
struct mail {
    struct optimizer_rule rule;
    float flags_in[STORE_FLAGS];
    float flags_out[STORE_FLAGS];
    struct backend_optimizer_state state;
    double squares; /* if the weight decay penalty was requested */
};

/* What the host keeps about a step under way. */
struct launched {
    double rate;
    bool penalty;
};

struct device_step {
    struct stepper *s; /* borrowed */
    struct backend *backend;
    const struct backend_device *ops;
    struct input_staging feed;
    struct mail *mail; /* STEPS_AHEAD */
    struct launched launched[STEPS_AHEAD];
    float *flags_in;       /* device memory: the host's flags of this step */
    unsigned char *groups; /* device memory */
    size_t group_count;
    struct tensor_norms norms; /* zeroed unless the optimizer adapts to them */
    float *states;             /* device memory: running statistics before this step */
    bool states_kept;          /* true if states were saved in this step */
    float *sum; /* device memory: gradients accumulated over the micro-batches so far; NULL
                 * with one */
    struct device_sum *sums; /* borrowed; NULL with one rank, and if the host all-reduces */
    float *host_gradients;   /* for all-reduce on the host; else NULL */
    struct canvas_state {
        /* Recordings of a micro-batch, indexed by: weights are packed first (in a step's first
         * one), and all that follows the last micro-batch is included. */
        void *recordings[2][2];
        bool warm; /* the first step on a canvas runs unrecorded, so that libraries warm up */
    } canvases[NETWORK_CANVASES_MAX]; /* indexed as net->train */
    int64_t steps;                    /* steps started so far */
    bool void_step;
};

/* Returns the recordings of the canvas of the present micro-batch. */
static struct canvas_state *canvas(struct device_step *d) {
    return &d->canvases[d->s->pass - d->s->net->train];
}

/* Returns the arena in device memory; flags follow its last gradient. */
static float *gradients(const struct device_step *d) {
    return d->s->net->store.arena[STORE_GRADIENTS];
}

/* Returns true if gradients are accumulated or all-reduced; then all of them are f32. */
static bool sums_up(const struct device_step *d) {
    return d->sum != NULL || d->sums != NULL || d->host_gradients != NULL;
}

static size_t gradient_count(const struct device_step *d) {
    return d->s->net->store.count[STORE_GRADIENTS];
}

/* Returns the queue that all-reduces order themselves with; NULL if the backend has none to
 * show. */
static void *queue(const struct device_step *d) {
    return d->ops->queue != NULL ? d->ops->queue(d->backend) : NULL;
}

/* Copies to the device which optimizer group each GROUP of parameters belongs to: slots begin at
 * multiples of STORE_ALIGNMENT, so a group of parameters never has two. */
static int open_groups(struct device_step *d, struct error *err) {
    const struct store *store = &d->s->net->store;
    d->group_count = store->count[STORE_PARAMETERS] / GROUP;
    unsigned char *host = calloc(d->group_count, 1);
    if (host == NULL)
        return error_no_memory(err, "groups of parameters");
    for (int i = 0; i < store->slot_count; i++) {
        const struct store_slot *slot = &store->slots[i];
        if (slot->trained)
            memset(host + slot->first / GROUP, d->s->group_of[i],
                   (slot->count + GROUP - 1) / GROUP);
    }
    d->groups = d->backend->table->alloc(d->backend, d->group_count, err);
    int result = d->groups == NULL
                     ? -1
                     : d->backend->table->copy_in(d->backend, d->groups, host, d->group_count, err);
    free(host);
    return result;
}

static size_t state_bytes(const struct device_step *d) {
    return d->s->net->store.count[STORE_STATE] * sizeof(float);
}

/* A network without batch norms has no statistics to keep. */
static int open_states(struct device_step *d, struct error *err) {
    if (state_bytes(d) == 0)
        return 0;
    d->states = d->backend->table->alloc(d->backend, state_bytes(d), err);
    return d->states == NULL ? -1 : 0;
}

static int device_open(struct stepper *stepper, struct error *err) {
    struct device_step *d = calloc(1, sizeof(*d));
    if (d == NULL)
        return error_no_memory(err, "the device's step");
    stepper->device = d;
    d->s = stepper;
    d->backend = stepper->net->backend;
    d->ops = d->backend->table->device;
    d->mail = d->ops->host_alloc(d->backend, STEPS_AHEAD * sizeof(*d->mail), err);
    if (d->mail == NULL || open_groups(d, err) != 0 || open_states(d, err) != 0 ||
        input_staging_open(&d->feed, stepper->net, EVENT_FEED, err) != 0 ||
        (optimizer_adapts(stepper->rule.step.kind) &&
         tensor_norms_open(&d->norms, &stepper->net->store, err) != 0))
        return -1;
    d->flags_in = d->backend->table->alloc(d->backend, FLAG_BYTES, err);
    if (d->flags_in == NULL)
        return -1;
    size_t bytes = gradient_count(d) * sizeof(float);
    if (stepper->accumulate > 1) {
        d->sum = d->backend->table->alloc(d->backend, bytes, err);
        if (d->sum == NULL)
            return -1;
    }
    d->sums = stepper->device_sum;
    stepper->waited = d->sums != NULL ? -1 : 0;
    if (d->sums == NULL && comm_size(stepper->comm) > 1) {
        d->host_gradients = d->ops->host_alloc(d->backend, bytes, err);
        if (d->host_gradients == NULL)
            return -1;
    }
    return 0;
}

/* Also after an open that failed half-way. */
static void device_close(struct stepper *stepper) {
    struct device_step *d = stepper->device;
    if (d == NULL)
        return;
    /* After a failure a step may still be under way. */
    (void)d->backend->table->sync(d->backend, NULL);
    for (int i = 0; i < NETWORK_CANVASES_MAX; i++)
        for (int k = 0; k < 4; k++)
            if (d->canvases[i].recordings[k / 2][k % 2] != NULL)
                d->ops->forget(d->backend, d->canvases[i].recordings[k / 2][k % 2]);
    input_staging_done(&d->feed);
    tensor_norms_done(&d->norms);
    if (d->states != NULL)
        d->backend->table->free(d->backend, d->states, state_bytes(d));
    if (d->flags_in != NULL)
        d->backend->table->free(d->backend, d->flags_in, FLAG_BYTES);
    if (d->sum != NULL)
        d->backend->table->free(d->backend, d->sum, gradient_count(d) * sizeof(float));
    if (d->groups != NULL)
        d->backend->table->free(d->backend, d->groups, d->group_count);
    if (d->host_gradients != NULL)
        d->ops->host_free(d->backend, d->host_gradients);
    if (d->mail != NULL)
        d->ops->host_free(d->backend, d->mail);
    free(d);
    stepper->device = NULL;
}

/* Writes the flags of this step: those of the host, then those from the device's metrics. With
 * several micro-batches the latter are accumulated after the sum of their gradients. */
static int put_flags(struct device_step *d, struct error *err) {
    const float *metrics = program_address(&d->s->pass->program, d->s->pass->metrics);
    float *flags = gradients(d) + d->s->net->store.flags;
    const struct model *model = d->s->net->model;
    if (d->ops->copy(d->backend, flags, d->flags_in, FLAG_BYTES, err) != 0)
        return -1;
    for (int i = 0, flag; (flag = step_flag_of(model, i)) >= 0; i++)
        if (d->ops->copy(d->backend, flags + flag, metrics + model->metrics[i].index, sizeof(float),
                         err) != 0)
            return -1;
    return 0;
}

/* Callback of the program: the gradients of a bucket are complete. */
static int on_bucket(void *user, int index, struct error *err) {
    struct device_step *d = user;
    struct stepper *s = d->s;
    const struct program *program = &s->pass->program;
    const struct bucket *bucket = &program->buckets[index];
    const struct store *store = &s->net->store;
    struct backend_sum sum = {.to = s->last_micro ? gradients(d) : d->sum,
                              .sum = d->sum,
                              .gradients = store->gradients,
                              .first = bucket->first,
                              .count = bucket->count};
    if (index == program->bucket_count - 1 && put_flags(d, err) != 0)
        return -1;
    bool adds = d->sum != NULL || (store->gradients.half != NULL && sums_up(d));
    if (adds && d->ops->add(d->backend, &sum, err) != 0)
        return -1;
    return d->sums == NULL || !s->last_micro
               ? 0
               : device_sum_start(d->sums, queue(d), gradients(d) + bucket->first, bucket->count,
                                  err);
}

/* Waits for EVENT, or if it is negative for everything. If the all-reduce failed, its error
 * takes precedence over the queue's. */
static int wait_for(const struct device_step *d, int event, struct error *err) {
    device_sum_expect(d->sums, clock_now() + COMM_DEADLINE_SECONDS * CLOCK_SECOND);
    int result = event >= 0 && d->ops->reach != NULL ? d->ops->reach(d->backend, event, err)
                                                     : d->backend->table->sync(d->backend, err);
    return device_sum_check(d->sums, err) != 0 ? -1 : result;
}

/* An error of the device is reported by the next wait. */
static int wait_for_operator(void *user, int step, struct error *err) {
    (void)step;
    return wait_for(user, -1, err);
}

/* Waits for each operator in the first step on a canvas, when most errors would appear, so that
 * the error names its operator. */
static int run_program(struct device_step *d, struct error *err) {
    struct program_hooks hooks = {.user = d, .bucket_ready = on_bucket};
    if (d->s->check_operators || !canvas(d)->warm)
        hooks.after_step = wait_for_operator;
    return program_run(&d->s->pass->program, &hooks, err);
}

/* All-reduces the gradients through a communicator in host memory. */
static int sum_on_host(struct device_step *d, struct error *err) {
    size_t bytes = gradient_count(d) * sizeof(float);
    const struct backend_table *table = d->backend->table;
    if (table->copy_out(d->backend, d->host_gradients, gradients(d), bytes, err) != 0)
        return -1;
    const int64_t begun = clock_now();
    uint64_t ticket = 0;
    if (step_sum_start(d->s, d->host_gradients, 0, gradient_count(d), &ticket, err) != 0 ||
        comm_wait(d->s->comm, ticket, err) != 0)
        return -1;
    d->s->waited = clock_now() - begun;
    return table->copy_in(d->backend, gradients(d), d->host_gradients, bytes, err);
}

static struct backend_update update_of(const struct device_step *d) {
    const struct store *store = &d->s->net->store;
    const struct backend_gradients summed = {.wide = gradients(d)};
    return (struct backend_update){.weights = store->arena[STORE_PARAMETERS],
                                   .state = {.momentum = store->arena[STORE_MOMENTUM],
                                             .second = store->arena[STORE_SECOND],
                                             .average = store->arena[STORE_AVERAGE]},
                                   .kind = (enum optimizer_kind)d->s->rule.step.kind,
                                   .norms = d->norms.norms,
                                   .gradients = sums_up(d) ? summed : store->gradients,
                                   .half_copy = store->half_copy,
                                   .groups = d->groups,
                                   .clips = d->s->rule.clip_norm > 0,
                                   .void_flag = gradients(d) + store->flags + FLAG_VOID,
                                   .loss = gradients(d) + store->flags + FLAG_LOSS,
                                   .count = store->trained,
                                   .states = store->arena[STORE_STATE],
                                   .states_before = d->states,
                                   .state_count = store->count[STORE_STATE]};
}

/* Enqueues everything between the batch and the new weights. */
static int enqueue_step(struct device_step *d, struct error *err) {
    struct backend_update update = update_of(d);
    if (run_program(d, err) != 0)
        return -1;
    if ((d->host_gradients != NULL && sum_on_host(d, err) != 0) ||
        (d->sums != NULL && device_sum_join(d->sums, queue(d), err) != 0))
        return error_wrap(err, "summing gradients");
    return d->ops->update(d->backend, &update, err);
}

/* An all-reduce in host memory cannot be part of a recording, nor can waits for single
 * operators. */
static bool can_record(struct device_step *d) {
    return d->ops->capture_begin != NULL && d->host_gradients == NULL && canvas(d)->warm &&
           !d->s->check_operators && (d->sums == NULL || !d->sums->unrecorded);
}

/* The program learns that its packed weights are fresh, which a recording cannot tell it. */
static int replay(struct device_step *d, void *recording, struct error *err) {
    if (d->ops->replay(d->backend, recording, err) != 0)
        return -1;
    program_refreshed(&d->s->pass->program);
    return 0;
}

/* Runs ENQUEUE, or replays its recording once there is one. */
static int launch(struct device_step *d, int (*enqueue)(struct device_step *d, struct error *err),
                  struct error *err) {
    bool stale = program_stale(&d->s->pass->program);
    /* Must precede a replay: the half-precision copy is stale if the host has changed the weights,
     * which is rare. */
    if (store_refresh_half(&d->s->net->store, err) != 0)
        return -1;
    void **recording = &canvas(d)->recordings[stale][d->s->last_micro];
    if (*recording != NULL)
        return replay(d, *recording, err);
    if (!can_record(d))
        return enqueue(d, err);
    if (d->ops->capture_begin(d->backend, err) != 0)
        return -1;
    int result = enqueue(d, err);
    /* Recording must end even if the step could not be enqueued; that first error is the one to
     * report. */
    if (d->ops->capture_end(d->backend, recording, result == 0 ? err : NULL) != 0 || result != 0)
        return -1;
    return replay(d, *recording, err);
}

/* A forward pass updates the running statistics immediately, long before it is known whether the
 * step counts; it also runs in a step that is given up. The optimizer kernel restores this copy if
 * the step does not count. */
static int keep_states(struct device_step *d, struct error *err) {
    if (d->states_kept || state_bytes(d) == 0)
        return 0;
    d->states_kept = true;
    return d->ops->copy(d->backend, d->states, d->s->net->store.arena[STORE_STATE], state_bytes(d),
                        err);
}

static int launch_micro(struct device_step *d, const struct batch *batch, struct error *err) {
    if (keep_states(d, err) != 0 || input_staging_put(&d->feed, d->s->pass, batch, err) != 0)
        return -1;
    return d->s->last_micro ? 0 : launch(d, run_program, err);
}

static int device_give_up(struct stepper *stepper, struct error *err) {
    struct device_step *d = stepper->device;
    d->void_step = true;
    d->s->last_micro = true;
    /* The memory of its inputs may have been reused by another program. */
    return keep_states(d, err) != 0 ? -1 : input_staging_clear(&d->feed, d->s->pass, err);
}

/* Writes the host's part of the step's mail, before the step is enqueued. */
static int post_mail(struct device_step *d, struct mail *mail, struct error *err) {
    memset(mail, 0, sizeof(*mail));
    mail->rule = d->s->rule;
    step_say(d->s, mail->flags_in);
    mail->flags_in[FLAG_VOID] = d->void_step ? 1 : 0;
    d->void_step = false;
    if (d->ops->copy(d->backend, d->flags_in, mail->flags_in, FLAG_BYTES, err) != 0)
        return -1;
    return d->ops->set_optimizer(d->backend, &mail->rule, err);
}

/* Copies the device's part of the mail, after the step. Resets the accumulated gradients to zero
 * for the next step, and the flags with them: micro-batches before the last one have none. */
static int collect_mail(struct device_step *d, struct mail *mail, int event, struct error *err) {
    const float *flags = gradients(d) + d->s->net->store.flags;
    struct backend_update update = update_of(d);
    if (d->ops->copy(d->backend, mail->flags_out, flags, FLAG_BYTES, err) != 0 ||
        d->ops->optimizer_state(d->backend, &mail->state, err) != 0 ||
        (d->s->penalty && d->ops->squares(d->backend, &update, &mail->squares, err) != 0) ||
        d->ops->clear(d->backend, d->flags_in, FLAG_BYTES, err) != 0)
        return -1;
    if (d->sum != NULL &&
        d->ops->clear(d->backend, d->sum, gradient_count(d) * sizeof(float), err) != 0)
        return -1;
    return d->ops->event != NULL ? d->ops->event(d->backend, event, err) : 0;
}

/* Waits for the oldest step under way and returns its outcome. */
static int read_outcome(struct device_step *d, struct step_outcome *ret, struct error *err) {
    int turn = (int)((d->steps - d->s->pending--) % STEPS_AHEAD);
    const struct mail *mail = &d->mail[turn];
    const struct launched *launched = &d->launched[turn];
    if (wait_for(d, EVENT_OUTCOME + turn, err) != 0 ||
        step_read_outcome(d->s, mail->flags_out, &mail->state, launched->rate, ret, err) != 0)
        return -1;
    if (launched->penalty)
        ret->penalty = 0.5 * mail->squares;
    return 0;
}

/* Starts a step and, once STEPS_AHEAD are under way, returns the outcome of the oldest. A backend
 * without events is waited for in each step. */
static int run_step(struct device_step *d, struct step_outcome *ret, struct error *err) {
    int turn = (int)(d->steps % STEPS_AHEAD);
    struct mail *mail = &d->mail[turn];
    d->launched[turn] =
        (struct launched){.rate = (double)d->s->rule.step.rate, .penalty = d->s->penalty};
    if (post_mail(d, mail, err) != 0 || launch(d, enqueue_step, err) != 0 ||
        collect_mail(d, mail, EVENT_OUTCOME + turn, err) != 0)
        return -1;
    store_updated(&d->s->net->store);
    d->steps++;
    d->s->pending++;
    canvas(d)->warm = true;
    d->states_kept = false;
    bool ahead = d->ops->reach != NULL && d->s->pending < STEPS_AHEAD;
    return ahead ? 0 : read_outcome(d, ret, err);
}

static int device_micro(struct stepper *s, const struct batch *batch, struct error *err) {
    const int64_t begin = timeline_begin(s->timeline);
    const int result = launch_micro(s->device, batch, err);
    timeline_end(s->timeline, TIMELINE_LAUNCH, begin, s->number);
    return result;
}

/* Returns the outcome of the step before. */
static int device_finish(struct stepper *s, struct step_outcome *ret, struct error *err) {
    const int64_t begin = timeline_begin(s->timeline);
    const int result = run_step(s->device, ret, err);
    timeline_end(s->timeline, TIMELINE_DEVICE, begin, s->number);
    return result;
}

static int device_settle(struct stepper *s, struct step_outcome *ret, struct error *err) {
    return s->pending == 0 ? 0 : read_outcome(s->device, ret, err);
}

const struct stepper_table DEVICE_STEP = {.open = device_open,
                                          .close = device_close,
                                          .take_micro = device_micro,
                                          .give_step_up = device_give_up,
                                          .finish_step = device_finish,
                                          .settle_step = device_settle};
