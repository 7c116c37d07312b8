#include "trainer/app/run/train.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log/log.h"
#include "common/system/stop_signal.h"
#include "trainer/app/board/board_batch.h"
#include "trainer/app/board/board_histograms.h"
#include "trainer/app/device/ranks.h"
#include "trainer/app/run/bn_statistics.h"
#include "trainer/app/run/evaluate.h"
#include "trainer/app/run/record.h"
#include "trainer/app/run/resume.h"
#include "trainer/app/run/save.h"
#include "trainer/app/run/step_report.h"
#include "trainer/app/run/training_run.h"
#include "trainer/app/weights/nan_check.h"
#include "trainer/telemetry/run_log.h"

#include <inttypes.h>

/* The loop of a training, and all that happens between two steps of it. `train` opens the run,
 * checks its outputs, resumes, and calls `run`; run_steps takes the steps; end_epoch and
 * keep_between do what needs the loop to stand still.
 *
 * A device works on a step while the host prepares the next, so step_once may return with a step
 * under way; its outcome comes with the next call. Whatever needs the weights of a certain step
 * asks for `last` in its request, and the loop then waits for that step before it continues.
 *
 * Ranks never decide alone. A request to stop, a checkpoint that is due by time, and data that
 * cannot be used travel as flags with the gradients of a step (step.h). All ranks read the same
 * sums and leave the loop after the same step. */

/* Memory of batches from which a device copies by itself. USER is the backend. */
static void *device_memory(void *user, size_t bytes, struct error *err) {
    struct backend *backend = user;
    return backend->table->device->host_alloc(backend, bytes, err);
}

static void free_device_memory(void *user, void *memory) {
    struct backend *backend = user;
    backend->table->device->host_free(backend, memory);
}

/* The loader begins at the batch of the present position and runs to the end of the last epoch. A
 * run that ends within an epoch, by --steps, leaves the rest unread. */
static int start_loader(struct training_run *job, struct error *err) {
    int64_t epochs = (job->setup.schedule.total_steps + job->setup.steps_per_epoch - 1) /
                     job->setup.steps_per_epoch;
    struct loader_options load = {
        .source = &job->setup.data.training.source,
        .faults = &job->setup.data.training.faults,
        .bad_allowed = job->setup.data.bad_allowed,
        .sampler = job->setup.sampler,
        .epoch = (uint32_t)job->state.epoch,
        .step = job->state.images / job->state.global_batch,
        .epochs = (uint32_t)epochs,
        .threads = job->setup.threads.data,
        .depth = run_setup_ring_depth(job->setup.options),
    };
    if (job->setup.backend->table->device != NULL)
        load.memory = (struct loader_memory){device_memory, free_device_memory, job->setup.backend};
    return loader_start(&load, &job->steps.loader, err);
}

/* Moves the run on by a step that counts. Counts one step in all units of the state. The scale is
 * kept as text with 9 digits, from which strtof gives the same float. */
static void advance(struct run_state *s, const struct step_result *result) {
    s->step++;
    s->batches += s->accumulate;
    s->samples += s->global_batch;
    s->images += s->global_batch;
    if (s->images >= s->epoch_images) {
        s->images = 0;
        s->epoch++;
    }
    (void)snprintf(s->loss_scale, sizeof(s->loss_scale), "%.9g", (double)result->loss_scale);
    s->good_steps = result->good_steps;
    s->updates = result->updates;
}

/* No rank had a usable picture, and all ranks know it: the step counts, and is the last. */
static void fail_empty_step(const struct run_setup *setup, const struct run_state *state,
                            struct error *ret) {
    (void)error_set(ret, EXIT_CODE_DATA,
                    "%s: none of the %" PRId64 " pictures of step %" PRId64
                    " can be used (--bad-samples %.64s): there is nothing to learn from; repair "
                    "the files, or give a larger --batch-size",
                    setup->data.training.source.name, state->global_batch, state->step,
                    setup->options->bad_samples);
}

/* All ranks know FAILURE, code 0 for none: they leave together after the present step. */
static void end_with(struct run_steps *steps, const struct error *failure) {
    if (failure->code == 0)
        return;
    steps->failure = *failure;
    steps->cannot_go_on = true;
}

/* Updates the job for a step that has run. A step that was given up or is still under way changes
 * only the flags. The flags are kept once set, because a request of one step must not be lost by
 * the outcome of the next. */
static int account(struct training_run *job, const struct step_result *result, bool *ret_stop,
                   struct error *err) {
    const struct step_outcome *outcome = &result->outcome;
    struct error failure = {0};
    *ret_stop = *ret_stop || outcome->stop;
    job->saves.keeping.asked = job->saves.keeping.asked || outcome->save;
    job->steps.cannot_go_on = job->steps.cannot_go_on || outcome->failed;
    if (!outcome->known || !outcome->applied)
        return 0;
    job->steps.own_statistics = true;
    advance(&job->state, result);
    if (outcome->empty)
        fail_empty_step(&job->setup, &job->state, &failure);
    /* The step is reported even if it is the last one. */
    end_with(&job->steps, &failure);
    if (step_report(&job->reports, &job->setup, &job->state, result, &failure, err) != 0)
        return -1;
    end_with(&job->steps, &failure);
    return 0;
}

/* Waits for the step under way on a device. */
static int settle(struct training_run *job, bool *ret_stop, struct error *err) {
    struct step_result result;
    if (run_steps_settle(&job->steps, &result, err) != 0)
        return error_wrap(err, "step %" PRId64, job->state.step + 1);
    return account(job, &result, ret_stop, err);
}

/* Returns true if the weights after STEP go to TensorBoard. */
static bool histograms_are_due(const struct run_setup *setup, int64_t step) {
    const int64_t every = setup->options->histograms;
    return every > 0 && step % every == 0;
}

/* What the next step is to do, the one after PENDING others. PENDING is 0, or 1 with a step under
 * way on a device: the request is for a step ahead of the state. Only rank 0 asks for a checkpoint
 * by time, and not while one is being written. */
static struct step_request next_request(const struct run_setup *setup,
                                        const struct run_state *state,
                                        const struct run_saves *saves, int pending) {
    const int64_t number = state->step + pending + 1;
    return (struct step_request){
        .done = state->step,
        .save = setup->first && !saving_is_busy(&saves->saving) &&
                checkpoint_policy_is_time(&saves->keeping),
        .number = number,
        .rate = schedule_rate(&setup->schedule, number - 1),
        .momentum = schedule_momentum(&setup->schedule, number - 1, setup->options->momentum),
        .penalty = setup->first && step_report_is_due(setup, number),
        .last = histograms_are_due(setup, number) || number == setup->schedule.total_steps ||
                checkpoint_policy_falls_on(&saves->keeping, number) ||
                state->images + (pending + 1) * state->global_batch >= state->epoch_images,
    };
}

/* Training does not depend on what TensorBoard shows of its first batch. */
static void show_batch(struct training_run *job) {
    struct error why = {0};
    if (board_batch(&job->reports.report.board, job->state.step, &job->setup.data, job->steps.held,
                    (size_t)job->setup.options->pictures, &why) != 0)
        log_warning("the first batch is not shown in TensorBoard: %s", why.text);
}

/* Takes the next step. At the end of an epoch or of the run, when a checkpoint is due, and after a
 * stop request no step is under way on return. */
static int step_once(struct training_run *job, bool *ret_stop, struct error *err) {
    const struct step_request request =
        next_request(&job->setup, &job->state, &job->saves, job->steps.stepper.pending);
    struct step_result result;
    const int64_t begun = clock_now();
    if (run_steps_take(&job->steps, &job->setup.data, &request, &result, err) != 0)
        return error_wrap(err, "step %" PRId64, job->state.step + 1);
    step_report_work(&job->reports, &job->setup, &result, clock_now() - begun);
    if (account(job, &result, ret_stop, err) != 0)
        return -1;
    /* All ranks have read the same flags and settle together. */
    bool ends = *ret_stop || job->saves.keeping.asked || job->steps.cannot_go_on;
    return request.last || ends ? settle(job, ret_stop, err) : 0;
}

/* When no step is under way. Only rank 0 has an open board; the others return at once. Weights and
 * gradients are copied to the host. */
static int add_histograms(struct training_run *job, struct error *err) {
    const float *gradients = NULL;
    void *weights = NULL;
    float scale = 1;
    if (!board_is_open(&job->reports.report.board))
        return 0;
    return run_steps_pull(&job->steps, STORE_PARAMETERS, &weights, err) != 0 ||
                   run_steps_gradients(&job->steps, &gradients, &scale, err) != 0
               ? -1
               : board_histograms(&job->reports.report.board, job->state.step,
                                  &job->steps.net.store, weights, gradients, scale, err);
}

/* Once in a number of steps the ranks' weights are compared and shown; BEFORE steps were done when
 * this was called last. The division finds a multiple of --verify-every between BEFORE and now,
 * although a device may report two steps at once or none. */
static int look_at_weights(struct training_run *job, int64_t before, struct error *err) {
    const int64_t every = job->setup.options->verify_every;
    const int64_t step = job->state.step;
    if (every > 0 && step / every > before / every &&
        run_steps_verify(&job->steps, job->setup.comm, err) != 0)
        return -1;
    return step > before && histograms_are_due(&job->setup, step) && job->steps.stepper.pending == 0
               ? add_histograms(job, err)
               : 0;
}

/* A loss that is not finite may recover while there are steps to come. After the last step no step
 * can mend it, so the run fails rather than report success. */
static int judge_score(const struct training_run *job, const struct evaluation *e,
                       struct error *err) {
    struct error bad = {0};
    if (nan_check_evaluation(e, "the model", &bad) == 0)
        return 0;
    if (job->state.step >= job->setup.schedule.total_steps)
        return error_set(err, bad.code, "%s", bad.text);
    if (job->setup.first)
        log_warning("%s", bad.text);
    return 0;
}

/* Limit of an evaluation's table by class. */
enum { TABLE_MAX = 16 * 1024 * 1024 };

/* Evaluates the average of the weights if there is one. The exchange is undone even after a
 * failure, so that what is saved then are the weights that training works on. */
static int evaluate_average(struct training_run *job, const struct evaluate_options *o,
                            struct evaluation *ret, struct error *err) {
    struct store *store = &job->steps.net.store;
    if (store_exchange_average(store, err) != 0)
        return -1;
    int result = evaluate(&job->steps.net, job->setup.comm, &job->setup.data, o, ret, err);
    return store_exchange_average(store, result == 0 ? err : NULL) != 0 ? -1 : result;
}

/* Evaluates, reports and keeps the best model. Collective; does nothing without validation data.
 * After a stop request there are no figures, and RET_STOP is set. */
static int score(struct training_run *job, bool *ret_stop, struct error *err) {
    cleanup_buf struct buf table = {.max = TABLE_MAX};
    /* A line of the record has room for it and its head. */
    cleanup_buf struct buf classes = {.max = RUN_LOG_LINE_MAX - 1024};
    struct evaluate_options o = {
        .threads = job->setup.threads.data,
        .progress = &job->reports.progress,
        .step = (uint64_t)job->state.step,
        .line = &job->reports.report.line,
        .artifacts = &job->reports.artifacts,
        .classes = &classes,
    };
    struct evaluation e;
    /* The table by class comes once, at the end. */
    if (job->state.step >= job->setup.schedule.total_steps)
        o.table = &table;
    if (job->setup.data.validation.source.count == 0)
        return 0;
    job->reports.artifacts.step = job->state.step;
    /* Evaluations are timed apart from training. */
    const int64_t begun = clock_now();
    if (evaluate_average(job, &o, &e, err) != 0)
        return -1;
    report_spent(&job->reports.report, EPOCH_EVALUATIONS, clock_now() - begun);
    timeline_end(&job->reports.timeline.steps, TIMELINE_EVALUATION, begun, job->state.step);
    *ret_stop = e.stopped;
    if (e.stopped)
        return 0;
    /* The table has the time of the checkpoint. */
    if (save_wait(job, err) != 0)
        return -1;
    const struct report_weights scored = {
        .step = job->state.step,
        .epoch = run_setup_epoch(&job->setup, &job->state),
        .saved_at = job->saves.keeping.saved_at,
    };
    if (report_print(&job->reports.report, buf_text(&table), err) != 0 ||
        report_evaluation(&job->reports.report, &scored, &e, err) != 0)
        return -1;
    record_classes(&job->setup, &job->state, &classes);
    return judge_score(job, &e, err) != 0 ? -1 : save_best(job, &e, err);
}

/* Saves what there is; then all ranks leave with the error of the first that cannot continue. A
 * rank without a failure of its own names the first one that has one, so that every rank's log has
 * the cause. */
static int leave_failed(struct training_run *job, struct error *err) {
    struct error failures_of_one = job->steps.failure;
    int ranks = comm_size(job->setup.comm);
    cleanup_free struct error *all = calloc((size_t)ranks, sizeof(*all));
    if (all == NULL)
        return error_no_memory(err, "failures of all ranks");
    if (save_last(job, err) != 0 ||
        comm_gather(job->setup.comm, &failures_of_one, sizeof(*all), all, err) != 0)
        return -1;
    int rank = 0;
    /* The last rank is the answer if no other has failed. */
    while (rank < ranks - 1 && all[rank].code == 0)
        rank++;
    *err = job->steps.failure.code != 0 ? job->steps.failure : all[rank];
    if (job->steps.failure.code == 0)
        (void)error_wrap(err, "rank %d cannot continue", rank);
    return -1;
}

static bool evaluation_is_due(const struct training_run *job) {
    int64_t every = job->setup.options->eval_every;
    return every > 0 && job->state.epoch % every == 0;
}

/* After the last step of an epoch other than the run's last. The checkpoint comes first, so that
 * a host lost during the evaluation costs no step; report_start then restarts the clock of the
 * steps. */
static int end_epoch(struct training_run *job, bool *ret_stop, struct error *err) {
    if (save_checkpoint(job, err) != 0)
        return -1;
    if (evaluation_is_due(job) && score(job, ret_stop, err) != 0)
        return -1;
    if (report_epoch(&job->reports.report, job->state.epoch, err) != 0)
        return -1;
    report_start(&job->reports.report);
    return 0;
}

/* Saves a checkpoint within an epoch, with the clock of the speed stopped. */
static int keep_between(struct training_run *job, struct error *err) {
    if (save_checkpoint(job, err) != 0)
        return -1;
    report_start(&job->reports.report);
    return 0;
}

/* Takes steps until the end or a stop; all ranks leave after the same one. */
static int run_steps(struct training_run *job, bool *ret_stop, struct error *err) {
    /* Reading starts before the first step is asked for. */
    if (start_loader(job, err) != 0)
        return -1;
    report_start(&job->reports.report);
    speed_begin_epoch(&job->reports.report.speed, clock_now(), job->state.images == 0);
    step_report_standing(&job->reports, &job->setup, &job->state);
    const int64_t first = job->state.step + 1;
    start_times_mark(&job->reports.start, START_WEIGHTS, clock_now());
    while (job->state.step < job->setup.schedule.total_steps) {
        const int64_t before = job->state.step;
        if (save_poll(job, err) != 0 || step_once(job, ret_stop, err) != 0 ||
            look_at_weights(job, before, err) != 0)
            return -1;
        if (job->state.step == first) {
            step_report_first(&job->reports, &job->setup, &job->state);
            show_batch(job);
        }
        if (job->steps.cannot_go_on)
            return leave_failed(job, err);
        if (job->state.step == job->setup.schedule.total_steps)
            break;
        if (*ret_stop)
            return save_last(job, err);
        /* With a step under way the device's weights are newer than the state, and nothing may be
         * saved or scored. */
        bool settled = job->steps.stepper.pending == 0;
        if (settled && job->state.images == 0 && end_epoch(job, ret_stop, err) != 0)
            return -1;
        if (settled && checkpoint_policy_is_due(&job->saves.keeping, job->state.step) &&
            keep_between(job, err) != 0)
            return -1;
        if (*ret_stop)
            return save_wait(job, err);
    }
    /* All work is done: a stop request has no effect any more. */
    *ret_stop = false;
    run_steps_stop_loader(&job->steps);
    return save_last(job, err);
}

/* Collective. Handles stop requests that some ranks got while they started. Ranks start at
 * different times, so some may have the signal and others not. They agree here, before any of them
 * takes part in a step. */
static int stop_before_first(struct training_run *job, bool *ret_stop, struct error *err) {
    double asked = stop_signal_requested() ? 1 : 0;
    if (comm_size(job->setup.comm) > 1 && comm_sum(job->setup.comm, &asked, 1, COMM_F64, err) != 0)
        return -1;
    *ret_stop = asked > 0;
    return 0;
}

/* A person at a terminal is informed how a second Ctrl-C differs from the first. */
static int train_or_stop(struct training_run *job, bool *ret_stop, struct error *err) {
    if (stop_before_first(job, ret_stop, err) != 0 || *ret_stop)
        return *ret_stop ? 0 : -1;
    if (ranks_alone(job->setup.comm))
        stop_signal_answer(
            "stopping after this step; press Ctrl-C again to stop at once, without a "
            "checkpoint");
    return run_steps(job, ret_stop, err);
}

static void log_done(int64_t steps) {
    if (steps == 1)
        log_info("the only step is done already");
    else
        log_info("all %" PRId64 " steps are done already", steps);
}

/* A run with all its steps done is not an error: it is scored and published again, as its own
 * model may have been lost. Of a run that stopped nothing is published: its checkpoint is what
 * continues. */
static int run(struct training_run *job, enum exit_code *ret_code, struct error *err) {
    bool stopped = false;
    const bool done = job->state.step >= job->setup.schedule.total_steps;
    if ((done && board_end_again(&job->reports.report.board, job->setup.inputs.events,
                                 job->state.step, err) != 0) ||
        board_begin(&job->reports.report.board, job->state.step + 1, err) != 0 ||
        record_flags(&job->setup, job->state.step, &job->reports.report, err) != 0)
        return -1;
    record_start(job);
    if (done) {
        if (job->setup.first)
            log_done(job->setup.schedule.total_steps);
    } else if (train_or_stop(job, &stopped, err) != 0) {
        return -1;
    }
    *ret_code = stopped ? EXIT_CODE_STOPPED : EXIT_CODE_OK;
    job->steps.stepper.exit_code = (int)*ret_code;
    if (stopped) {
        record_log_stop(job);
        return training_run_leave(job, err);
    }
    /* The model is written before the last evaluation, so that a failure of the latter does not
     * cost it. */
    if (bn_statistics_average(&job->steps, job->setup.comm, err) != 0 || save_model(job, err) != 0)
        return -1;
    bool cut_short = false;
    if (score(job, &cut_short, err) != 0 || save_publish_best(job, err) != 0)
        return -1;
    if ((!done && job->state.images == 0 &&
         report_epoch(&job->reports.report, job->state.epoch, err) != 0) ||
        report_evaluations(&job->reports.report, err) != 0)
        return -1;
    record_log_end(job);
    if (cut_short && job->setup.first)
        log_info("training is complete; a stop was requested during its last evaluation");
    return training_run_leave(job, err);
}

/* Lines of the record are kept from the start, before there is a file for them. After an error the
 * process is about to end, so training_run_give_up frees only what no thread can still be using. */
int train(const struct options *o, const struct roles *roles, enum exit_code *ret_code,
          struct error *err) {
    struct training_run job = {0};
    struct comm *comm = roles->own;
    if (comm_rank(comm) == 0)
        run_log_begin();
    if (ranks_alone(comm))
        stop_signal_answer_and_leave("stopped before the first step");
    if (stop_signal_listen(err) == 0 && training_run_open(&job, o, roles, err) == 0 &&
        save_check(&job, err) == 0 && record_begin(&job.setup, &job.state, err) == 0 &&
        resume_job(&job, err) == 0 && run(&job, ret_code, err) == 0) {
        record_end(&job, *ret_code, NULL);
        training_run_done(&job);
        return 0;
    }
    save_leave(&job);
    record_end(&job, err->code, err);
    training_run_give_up(&job);
    return -1;
}
