#include "trainer/app/run/training_run.h"

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/run_id.h"
#include "common/str.h"
#include "trainer/app/device/device.h"
#include "trainer/app/device/ranks.h"
#include "trainer/app/run/evaluate.h"
#include "trainer/app/run/learning_rate.h"
#include "trainer/app/run/notes.h"
#include "trainer/app/step/room.h"
#include "trainer/app/weights/pretrained.h"
#include "trainer/comm/device_sum.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Batches in the ring, read ahead of the step that runs. */
enum { RING_LEAST = 4 };

/* Sampler, steps and learning rate follow from data and ranks. */
static int settle_steps(struct training_run *job, struct error *err) {
    const struct options *o = job->options;
    job->sampler = (struct sampler){
        .count = job->data.training.source.count,
        .ranks = comm_size(job->comm),
        .rank = comm_rank(job->comm),
        .batch = (int)o->batch_size,
        .accumulate = (int)o->accumulate,
        .seed = (uint64_t)o->seed,
        .shuffle = true,
        .groups = job->data.training.groups,
    };
    if (sampler_check(&job->sampler, err) != 0)
        return -1;
    job->steps_per_epoch = sampler_steps(&job->sampler);
    int64_t global_batch = comm_size(job->comm) * o->batch_size * o->accumulate;
    job->state.global_batch = global_batch;
    return learning_rate_settle(&job->schedule, o, job->steps_per_epoch, global_batch, err);
}

enum { ANNOUNCED_MAX = 4096 };

/* Networks that find objects have canvases in place of a size. */
static int tell_run(struct buf *out, const struct training_run *job, struct error *err) {
    const struct options *o = job->options;
    if (buf_printf(out, err, "%s, %s, ", o->model, dtype_name(device_dtype(o->dtype))) != 0 ||
        (job->ask.model->task == MODEL_CLASSIFY &&
         buf_printf(out, err, "%d px, ", job->ask.image_size) != 0))
        return -1;
    return buf_printf(out, err,
                      "%zu classes; %zu training images, %zu to evaluate on; %" PRId64
                      " steps of %" PRId64 " images",
                      job->data.classes, job->data.training.source.count,
                      job->data.validation.source.count, job->schedule.total_steps,
                      job->state.global_batch);
}

/* What canvases leave out their task tells. */
static int tell_left_out(struct buf *out, const struct training_run *job, struct error *err) {
    const int64_t images = (int64_t)job->data.training.source.count;
    const int64_t left_out = images - job->steps_per_epoch * job->state.global_batch;
    if (job->sampler.groups.count > 0 || left_out == 0)
        return 0;
    return buf_printf(out, err,
                      "%" PRId64 " images: %" PRId64 " are left out of each pass (incomplete last "
                      "batch), others each time",
                      images, left_out);
}

static void tell(struct buf *line) {
    if (line->size > 0)
        log_info("%.*s", (int)strcspn(buf_text(line), "\n"), buf_text(line));
    buf_consume(line, line->size);
}

/* What begins, and what it makes of what was asked for: before the work begins that may take a
 * while, as compiling the network, tuning, the first step. */
static int announce(const struct training_run *job, struct error *err) {
    cleanup_buf struct buf text = {0};
    buf_init(&text, ANNOUNCED_MAX);
    if (!job->first)
        return 0;
    if (tell_run(&text, job, err) != 0)
        return -1;
    tell(&text);
    if (tell_left_out(&text, job, err) != 0)
        return -1;
    tell(&text);
    if (learning_rate_tell_scale(&text, job->options, &job->schedule, job->state.global_batch,
                                 err) != 0)
        return -1;
    tell(&text);
    if (learning_rate_tell_unreached(&text, job->options, &job->schedule, err) != 0)
        return -1;
    notes_tell(&text);
    return 0;
}

int training_run_ring_depth(const struct options *o) {
    int64_t ahead = 2 * o->accumulate;
    if (ahead < RING_LEAST)
        return RING_LEAST;
    return ahead > LOADER_DEPTH_MAX ? LOADER_DEPTH_MAX : (int)ahead;
}

static int open_network(struct training_run *job, struct error *err) {
    const struct options *o = job->options;
    struct network_options n = {
        .model = o->model,
        .batch = (int)o->batch_size,
        .image_size = job->ask.image_size,
        .classes = (int)job->data.classes,
        .objects = job->data.objects,
        .zero_gamma = o->zero_gamma,
        .dtype = device_dtype(o->dtype),
        .fusion = device_fusion(o),
        .label_smoothing = o->label_smoothing,
        .mean = MODEL_MEAN,
        .std = MODEL_STD,
    };
    struct room room = {.comm = job->comm,
                        .data = &job->data,
                        .network = &n,
                        .threads = &job->threads,
                        .depth = training_run_ring_depth(o)};
    n.memory = (struct compile_memory){room_check, &room};
    evaluate_canvases(&n, &job->data);
    if (device_open(&job->backend, o, job->threads.compute, job->comm, true, err) != 0)
        return -1;
    room.backend = job->backend;
    if (network_open(&job->net, job->backend, &n, true, err) != 0 ||
        device_sum_open(&job->sums, o, job->comm, job->backend,
                        job->net.store.arena[STORE_GRADIENTS],
                        job->net.store.count[STORE_GRADIENTS] * sizeof(float), err) != 0)
        return -1;
    struct host_stepper_options step = {
        .accumulate = (int)o->accumulate,
        .sgd = {.momentum = (float)o->momentum,
                .weight_decay = (float)o->weight_decay,
                .nesterov = o->nesterov},
        .decay_all = o->decay_all,
        .decay_biases = o->decay_biases,
        .bias_rate = (float)o->bias_rate,
        .clip_norm = (float)o->clip_norm,
        .device_sum = job->sums,
        .check_operators = o->check_operators,
        .loss_scale = o->dtype == OPTION_F16 ? (float)o->loss_scale : 1,
    };
    return host_stepper_open(&job->stepper, &job->net, job->comm, &step, err);
}

/* The end of a path; whole characters of UTF-8. */
static void keep_end(char ret[RUN_STATE_TEXT], const char *path) {
    size_t length = strlen(path);
    if (length >= RUN_STATE_TEXT)
        path += length - RUN_STATE_TEXT + 1;
    while (((unsigned char)*path & 0xc0) == 0x80)
        path++;
    (void)snprintf(ret, RUN_STATE_TEXT, "%s", path);
}

static void describe_data(const struct training_run *job, struct run_state *s) {
    keep_end(s->data_name, job->data.training.source.name);
    (void)snprintf(s->data, sizeof(s->data), "%016" PRIx64, job->data.hash);
    s->data_images = (int64_t)job->data.training.source.count;
}

static int describe(struct training_run *job, struct error *err) {
    const struct options *o = job->options;
    struct run_state *s = &job->state;
    cleanup_buf struct buf options = {0};
    buf_init(&options, sizeof(s->options));
    const struct task *task = job->data.task;
    if (options_record(&options, o, err) != 0 ||
        (task->record != NULL && task->record(&job->data, &options, err) != 0))
        return -1;
    (void)snprintf(s->options, sizeof(s->options), "%s", buf_text(&options));
    (void)snprintf(s->model, sizeof(s->model), "%s", o->model);
    (void)snprintf(s->dtype, sizeof(s->dtype), "%s", dtype_name(device_dtype(o->dtype)));
    (void)snprintf(s->fusion, sizeof(s->fusion), "%s", fusion_name(device_fusion(o)));
    (void)snprintf(s->backend, sizeof(s->backend), "%s",
                   job->backend->table->describe(job->backend));
    (void)snprintf(s->program, sizeof(s->program), "ringtrain %s%s%s", RINGMASTER_VERSION,
                   comm_size(job->comm) > 1 ? ", " : "",
                   comm_size(job->comm) > 1 ? ranks_library() : "");
    const char *run = getenv(ATTEMPT_RUN_VARIABLE);
    (void)snprintf(s->run, sizeof(s->run), "%s", run != NULL ? run : "");
    describe_data(job, s);
    keep_end(s->init, o->init != NULL ? o->init : "none");
    s->classes = (int64_t)job->data.classes;
    s->ranks = comm_size(job->comm);
    s->accumulate = o->accumulate;
    s->batch_size = o->batch_size;
    s->threads = job->threads.compute;
    s->seed = o->seed;
    s->image_size = job->ask.image_size;
    s->total_steps = job->schedule.total_steps;
    s->epoch_images = job->steps_per_epoch * s->global_batch;
    if (job->first)
        log_info("ranks: %" PRId64 "; threads per rank: %d compute, %d data; %s", s->ranks,
                 job->threads.compute, job->threads.data, s->backend);
    return 0;
}

/* The best model is that of an evaluation. */
static int open_best(struct training_run *job, struct error *err) {
    const struct options *o = job->options;
    struct best *b = &job->best;
    if (best_open(b, o->keep_best, job->inputs.checkpoints, job->ask.model, err) != 0)
        return -1;
    bool none = b->folder[0] == '\0';
    if (!job->inputs.scored)
        b->folder[0] = '\0';
    if (!job->inputs.scored && b->metric[0] != '\0')
        return error_set(err, EXIT_CODE_USAGE,
                         "--keep-best %s: there is nothing to evaluate on; give --validation DIR",
                         b->metric);
    if (o->publish == OPTION_PUBLISH_BEST && (none || !job->inputs.scored))
        return error_set(err, EXIT_CODE_USAGE, "--publish best: no best model is kept; %s",
                         none ? "leave --keep-best none out" : "give --validation DIR");
    return 0;
}

/* All that can be told before folders are looked through and networks compiled, which takes long.
 */
static int check_flags(const struct training_run *job, struct error *err) {
    const struct task_ask *ask = &job->ask;
    if (ask->model->task == MODEL_CLASSIFY &&
        network_check_side(ask->model, ask->image_size, err) != 0)
        return -1;
    if (!job->first)
        return 0;
    return inputs_check_places(&job->inputs, err) != 0
               ? -1
               : pretrained_check(job->options, job->inputs.checkpoints, err);
}

int training_run_open(struct training_run *job, const struct options *o, struct comm *comm,
                      struct error *err) {
    *job = (struct training_run){.options = o, .comm = comm, .first = comm_rank(comm) == 0};
    job->report.events = (struct tfevents)TFEVENTS_CLOSED;
    const struct model *model = model_need(o->model, err);
    if (model == NULL)
        return -1;
    job->ask = (struct task_ask){
        .options = o,
        .inputs = &job->inputs,
        .comm = comm,
        .model = model,
        .image_size = o->image_size > 0 ? (int)o->image_size : model->image_size,
    };
    if (checkpoint_policy_open(&job->keeping, o->checkpoint_every, err) != 0 ||
        inputs_find(&job->inputs, o, COMMAND_TRAIN, model->task, "", err) != 0 ||
        open_best(job, err) != 0 || check_flags(job, err) != 0 ||
        progress_open(&job->progress, getenv(PROGRESS_VARIABLE), err) != 0 ||
        device_place(o, comm, true, err) != 0 || threads_settle(&job->threads, o, comm, err) != 0 ||
        task_open(&job->data, &job->ask, err) != 0 || settle_steps(job, err) != 0)
        return -1;
    if (announce(job, err) != 0 || open_network(job, err) != 0 || describe(job, err) != 0)
        return -1;
    job->findings = (struct eval_artifacts){.folder = job->inputs.out,
                                            .events = &job->report.events,
                                            .pictures = (size_t)o->pictures,
                                            .seed = (uint64_t)o->seed,
                                            .least_score = o->score_threshold};
    return report_open(&job->report, job->first ? stdout : NULL, o->log, model, job->inputs.events,
                       err);
}

void training_run_stop_loader(struct training_run *job) {
    loader_done(job->loader);
    job->loader = NULL;
    job->held = NULL;
}

void training_run_done(struct training_run *job) {
    folder_lock_done(&job->model_lock);
    folder_lock_done(&job->lock);
    report_done(&job->report);
    progress_done(&job->progress);
    /* Sums first: whatever frees what the device may use waits for them. Where the device does not
     * let go, all of it stays until the process ends. */
    if (device_sum_close(job->sums) != 0)
        return;
    host_stepper_done(&job->stepper);
    training_run_stop_loader(job);
    network_done(&job->net);
    backend_close(job->backend);
    task_close(&job->data);
}

void training_run_give_up(struct training_run *job) {
    folder_lock_done(&job->model_lock);
    folder_lock_done(&job->lock);
    report_done(&job->report);
    progress_done(&job->progress);
    if (job->backend != NULL && job->backend->table->device == NULL)
        training_run_stop_loader(job);
    loader_stop(job->loader);
}

int training_run_leave(struct training_run *job, struct error *err) {
    /* Nobody leaves while rank 0 still writes: the launcher would end it. */
    if (comm_barrier(job->comm, err) != 0)
        return -1;
    host_stepper_done(&job->stepper);
    return device_sum_finish(job->sums, err);
}

double training_run_epoch(const struct training_run *job) {
    const struct run_state *s = &job->state;
    if (job->steps_per_epoch == 0) /* a run that ended before its data was opened */
        return 0;
    double steps = (double)(s->images / s->global_batch);
    return (double)s->epoch + steps / (double)job->steps_per_epoch;
}

int training_run_pull(struct training_run *job, enum store_arena arena, void **ret,
                      struct error *err) {
    device_sum_expect(job->sums, clock_now() + COMM_DEADLINE_SECONDS * CLOCK_SECOND);
    int result = store_pull(&job->net.store, arena, ret, err);
    return device_sum_check(job->sums, err) != 0 ? -1 : result;
}

int training_run_verify(struct training_run *job, struct error *err) {
    static const enum store_arena arenas[] = {STORE_PARAMETERS, STORE_MOMENTUM, STORE_CONSTANTS};
    const struct store *store = &job->net.store;
    if (comm_size(job->comm) == 1)
        return 0;
    uint64_t hash = STR_HASH_START;
    for (size_t i = 0; i < sizeof(arenas) / sizeof(arenas[0]); i++) {
        void *values = NULL;
        if (training_run_pull(job, arenas[i], &values, err) != 0)
            return -1;
        hash = str_hash(hash, values, store->count[arenas[i]] * sizeof(float));
    }
    return ranks_agree(job->comm, "the parameters", hash, EXIT_CODE_INTERNAL, err);
}
