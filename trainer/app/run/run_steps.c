#include "trainer/app/run/run_steps.h"

#include "common/clock.h"
#include "common/str.h"
#include "trainer/app/device/ranks.h"
#include "trainer/app/step/next_batch.h"
#include "trainer/comm/device_sum.h"
#include "trainer/telemetry/timeline.h"

#include <inttypes.h>

/* The next batch; how long it took to come is added up. */
static enum next_batch_result next_batch(struct run_steps *s, const struct batch **ret,
                                         struct error *err) {
    int64_t start = clock_now();
    enum next_batch_result result = next_batch_batch(s->loader, ret, err);
    s->data_waited += clock_now() - start;
    timeline_end(s->stepper.timeline, TIMELINE_DATA, start, s->stepper.number);
    return result;
}

/* There is no batch, for RESULT. Where the data of this rank cannot be used, all ranks save what
 * they have and end together. */
static void note_failure(struct run_steps *s, struct task_data *data, enum next_batch_result result,
                         struct error *err) {
    if (result == NEXT_BATCH_STOP)
        return;
    if (result == NEXT_BATCH_BAD)
        (void)sample_health_refuse(&data->training, data->bad_allowed, err);
    s->failure = *err;
    s->stepper.failed = true;
}

/* Forward and backward over this rank's micro-batches of one step, unless a batch is MISSING. A
 * batch is given back when the stepper has the next one. */
static int run_micro_batches(struct run_steps *s, struct task_data *data, int64_t done,
                             bool *ret_missing, struct error *err) {
    for (int i = 0; i < s->stepper.accumulate; i++) {
        const struct batch *batch = NULL;
        enum next_batch_result next = next_batch(s, &batch, err);
        if (next == NEXT_BATCH_END)
            return error_set(err, EXIT_CODE_INTERNAL, "the data ended at step %" PRId64, done);
        if (next != NEXT_BATCH_BATCH) {
            note_failure(s, data, next, err);
            *ret_missing = true;
            return 0;
        }
        sample_health_count(&data->training, batch);
        int result = stepper_micro(&s->stepper, batch, err);
        if (s->held != NULL)
            loader_release(s->loader, s->held);
        s->held = batch;
        if (result != 0)
            return -1;
    }
    return 0;
}

static struct step_result result_of(const struct run_steps *s, const struct step_outcome *outcome) {
    return (struct step_result){.outcome = *outcome,
                                .data_waited = s->data_waited,
                                .ranks_waited = s->stepper.waited,
                                .loss_scale = s->stepper.loss_scale,
                                .good_steps = s->stepper.good_steps,
                                .updates = s->stepper.updates};
}

int run_steps_take(struct run_steps *s, struct task_data *data, const struct step_request *request,
                   struct step_result *ret, struct error *err) {
    struct step_outcome outcome;
    bool missing = s->stepper.gave_up;
    const int64_t begin = timeline_begin(s->stepper.timeline);
    s->stepper.number = request->number;
    s->stepper.save = request->save;
    s->stepper.penalty = request->penalty;
    s->stepper.rule.step.momentum = (float)request->momentum;
    s->data_waited = 0;
    if (!missing && run_micro_batches(s, data, request->done, &missing, err) != 0)
        return -1;
    /* The step is then given up on all ranks. */
    if (missing && stepper_give_up(&s->stepper, err) != 0)
        return -1;
    const int result = stepper_finish(&s->stepper, request->rate, &outcome, err);
    timeline_end(s->stepper.timeline, TIMELINE_STEP, begin, request->number);
    *ret = result_of(s, &outcome);
    s->gradient_scale = s->stepper.loss_scale;
    return result;
}

int run_steps_settle(struct run_steps *s, struct step_result *ret, struct error *err) {
    struct step_outcome outcome;
    const int result = stepper_settle(&s->stepper, &outcome, err);
    *ret = result_of(s, &outcome);
    return result;
}

void run_steps_stop_loader(struct run_steps *s) {
    loader_done(s->loader);
    s->loader = NULL;
    s->held = NULL;
}

int run_steps_pull(struct run_steps *s, enum store_arena arena, void **ret, struct error *err) {
    device_sum_expect(s->sums, clock_now() + COMM_DEADLINE_SECONDS * CLOCK_SECOND);
    int result = store_pull(&s->net.store, arena, ret, err);
    return device_sum_check(s->sums, err) != 0 ? -1 : result;
}

int run_steps_gradients(struct run_steps *s, const float **ret, float *ret_scale,
                        struct error *err) {
    struct store *store = &s->net.store;
    const bool sums = comm_size(s->stepper.comm) > 1 || s->stepper.accumulate > 1;
    void *values = NULL;
    if ((sums ? store_pull_sums(store, &values, err)
              : run_steps_pull(s, STORE_GRADIENTS, &values, err)) != 0)
        return -1;
    *ret = values;
    *ret_scale = s->stepper.rule.step.scale / s->gradient_scale;
    return 0;
}

int run_steps_verify(struct run_steps *s, struct comm *comm, struct error *err) {
    static const enum store_arena arenas[] = {STORE_PARAMETERS, STORE_MOMENTUM, STORE_SECOND,
                                              STORE_AVERAGE, STORE_CONSTANTS};
    const struct store *store = &s->net.store;
    if (comm_size(comm) == 1)
        return 0;
    uint64_t hash = STR_HASH_START;
    for (size_t i = 0; i < sizeof(arenas) / sizeof(arenas[0]); i++) {
        void *values = NULL;
        if ((store_is_kept(arenas[i]) && store->count[arenas[i]] == 0) ||
            !stepper_agrees(&s->stepper, arenas[i]))
            continue;
        if (run_steps_pull(s, arenas[i], &values, err) != 0)
            return -1;
        hash = str_hash(hash, values, store->count[arenas[i]] * sizeof(float));
    }
    return ranks_agree(comm, "the parameters", hash, EXIT_CODE_INTERNAL, err);
}
