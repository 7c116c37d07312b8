#include "trainer/app/run/training_run.h"

#include "common/buf.h"
#include "common/clock.h"
#include "common/log/log.h"
#include "common/run_id.h"
#include "common/str.h"
#include "trainer/app/board/board_graph.h"
#include "trainer/app/device/device.h"
#include "trainer/app/device/ranks.h"
#include "trainer/app/hosts/data_parts.h"
#include "trainer/app/run/evaluate.h"
#include "trainer/app/run/learning_rate.h"
#include "trainer/app/step/room.h"
#include "trainer/app/task/tasks.h"
#include "trainer/app/weights/pretrained.h"
#include "trainer/comm/device_sum.h"
#include "trainer/data/order/picture_sizes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Opening a run goes from what is cheap and likely to fail to what is slow: flags, folders, and the
 * place of the device first; then the data, which may be scanned for minutes; then the network,
 * which is compiled and takes memory. Each stage needs the one before it: the number of classes
 * shapes the network, and the network's gradients shape the all-reduce.
 *
 * All ranks open in the same order, as several stages are collective. What a rank finds alone, such
 * as a folder that cannot be written, ends it, and the others with it (comm.h).
 *
 * Options become types of the rooms below here (optimizer_of, network_of, reduce_type_of), so that
 * optimizers, networks and communicators know nothing of flags. */

/* A part is permuted by itself, and divided among the ranks that have it. The sampler then permutes
 * this rank's part alone. */
static void set_part(struct sampler *s, const struct dataset_part *part) {
    s->count = part->count;
    s->ranks = part->ranks;
    s->rank = part->rank;
    s->part.first = part->first;
}

/* Returns the images of one optimizer step over all ranks and micro-batches. */
static int64_t images_a_step(const struct run_setup *setup) {
    return comm_size(setup->comm) * setup->options->batch_size * setup->options->accumulate;
}

/* Derives the sampler, the number of steps and the learning rate from data and ranks. Where data is
 * divided among hosts, parts may give different numbers of steps; data_parts_steps makes all ranks
 * take the same number. */
static int settle_steps(struct run_setup *setup, int64_t *ret_global_batch, struct error *err) {
    const struct options *o = setup->options;
    setup->sampler = (struct sampler){
        .count = setup->data.training.source.count,
        .ranks = comm_size(setup->comm),
        .rank = comm_rank(setup->comm),
        .batch = (int)o->batch_size,
        .accumulate = (int)o->accumulate,
        .seed = (uint64_t)o->seed,
        .shuffle = true,
        .groups = setup->data.training.groups,
        .lanes = setup->data.training.lanes,
    };
    const struct dataset_part *part = &setup->data.training.part;
    const int64_t global_batch = images_a_step(setup);
    if (part->parts > 0)
        set_part(&setup->sampler, part);
    if (sampler_check(&setup->sampler, err) != 0)
        return -1;
    setup->steps_per_epoch = sampler_steps(&setup->sampler);
    if (part->parts > 0 &&
        data_parts_steps(setup->comm, setup->steps_per_epoch, global_batch,
                         setup->data.training.source.count, &setup->steps_per_epoch, err) != 0)
        return -1;
    if (part->parts > 0)
        setup->sampler.part.steps = setup->steps_per_epoch;
    *ret_global_batch = global_batch;
    return learning_rate_settle(&setup->schedule, o, setup->steps_per_epoch, global_batch, err);
}

/* An --epsilon of 0 stands for the optimizer's own default. The learning rate and the scale of the
 * gradients are set by the stepper. */
static struct optimizer_step optimizer_of(const struct options *o) {
    /* The row has the defaults of the kind. */
    const struct optimizer_row *row = optimizer_row((enum optimizer_kind)o->optimizer);
    return (struct optimizer_step){.kind = o->optimizer,
                                   .momentum = (float)o->momentum,
                                   .weight_decay = (float)o->weight_decay,
                                   .nesterov = o->nesterov,
                                   .trust = (float)o->trust,
                                   .second = (float)o->beta2,
                                   .epsilon = o->epsilon > 0 ? (float)o->epsilon : row->epsilon,
                                   .average = (float)o->ema};
}

/* It is called twice, for the network and for the graph that TensorBoard shows, so that both are
 * the same. Arrays of means point into the data, or to the constants of ImageNet. */
static struct network_options network_of(const struct training_run *job) {
    const struct options *o = job->setup.options;
    struct network_options n = {
        .model = o->model,
        .batch = (int)o->batch_size,
        .image_size = job->setup.request.image_size,
        .classes = (int)job->setup.data.classes,
        .objects = job->setup.data.objects,
        .zero_gamma = o->zero_gamma,
        .dtype = device_dtype(o->dtype),
        .fusion = device_fusion(o),
        .keeps = step_keeps((enum optimizer_kind)o->optimizer, o->ema > 0),
        .label_smoothing = o->label_smoothing,
        .dropout = o->dropout,
        /* A task may have no means of its own. */
        .mean = job->setup.data.mean != NULL ? job->setup.data.mean : MODEL_MEAN,
        .std = job->setup.data.std != NULL ? job->setup.data.std : MODEL_STD,
    };
    evaluate_canvases(&n, &job->setup.data);
    return n;
}

/* Half precision is a way to send f32 gradients, which stay f32 in memory. */
static enum comm_type reduce_type_of(const struct options *o) {
    static const enum comm_type types[] = {
        [OPTION_F32] = COMM_F32, [OPTION_BF16] = COMM_F32_AS_BF16, [OPTION_F16] = COMM_F32_AS_F16};
    return types[o->reduce_dtype];
}

/* Opens device, network, all-reduce and stepper, in that order. The check of memory runs as a
 * callback of the compiler, when sizes are known and nothing is allocated yet. */
static int open_network(struct training_run *job, struct error *err) {
    const struct options *o = job->setup.options;
    struct network_options n = network_of(job);
    /* It lives as long as this call: the callback is used within network_open only. */
    struct room room = {.comm = job->setup.comm,
                        .data = &job->setup.data,
                        .network = &n,
                        .threads = &job->setup.threads,
                        .depth = run_setup_ring_depth(o)};
    n.memory = (struct compile_memory){room_check, &room};
    if (device_open(&job->setup.backend, o, job->setup.threads.compute, job->setup.comm, true,
                    err) != 0)
        return -1;
    room.backend = job->setup.backend;
    if (network_open(&job->steps.net, job->setup.backend, &n, true, err) != 0 ||
        device_sum_open(&job->steps.sums, o, job->setup.comm, job->setup.backend,
                        job->steps.net.store.arena[STORE_GRADIENTS],
                        job->steps.net.store.count[STORE_GRADIENTS] * sizeof(float), err) != 0)
        return -1;
    /* Flags become the stepper's units: float for the device's rule, int for counts. */
    struct stepper_options step = {
        .accumulate = (int)o->accumulate,
        .optimizer = optimizer_of(o),
        .decay_all = o->decay_all,
        .decay_biases = o->decay_biases,
        .bias_rate = (float)o->bias_rate,
        .clip_norm = (float)o->clip_norm,
        .device_sum = job->steps.sums,
        .reduce_type = reduce_type_of(o),
        .check_operators = o->check_operators,
        /* Only f16 has so little range that small gradients vanish without a scale. */
        .loss_scale = o->dtype == OPTION_F16 ? (float)o->loss_scale : 1,
        .strategy = (enum option_strategy)o->strategy,
        .sync_every = (int)o->sync_every,
        .staleness = (int)o->staleness,
        .all = job->setup.all,
    };
    return stepper_open(&job->steps.stepper, &job->steps.net, job->setup.comm, &step, err);
}

/* Copies the end of PATH, in whole characters of UTF-8. The end of a path tells sets apart better
 * than its beginning. Bytes 10xxxxxx continue a character of UTF-8 and are skipped at the cut. */
static void keep_end(char ret[RUN_STATE_TEXT], const char *path) {
    size_t length = strlen(path);
    if (length >= RUN_STATE_TEXT)
        path += length - RUN_STATE_TEXT + 1;
    while (((unsigned char)*path & 0xc0) == 0x80)
        path++;
    (void)snprintf(ret, RUN_STATE_TEXT, "%s", path);
}

/* The hash identifies the set, as 16 hexadecimal digits; name and count are for messages. */
static void describe_data(const struct run_setup *setup, struct run_state *s) {
    keep_end(s->data_name, setup->data.training.source.name);
    (void)snprintf(s->data, sizeof(s->data), "%016" PRIx64, setup->data.hash);
    s->data_images = (int64_t)setup->data.training.source.count;
}

/* Fills in the state of a run that begins: what a checkpoint records of its settings. The position
 * stays 0, and resume.h moves it. global_batch is set before, by settle_steps. */
static int describe(const struct run_setup *setup, struct run_state *s, struct error *err) {
    const struct options *o = setup->options;
    /* The text is limited to the field that it goes into. */
    cleanup_buf struct buf options = {0};
    buf_init(&options, sizeof(s->options));
    const struct task *task = setup->data.task;
    if (options_record(&options, o, err) != 0 ||
        (task->record != NULL && task->record(&setup->data, &options, err) != 0))
        return -1;
    (void)snprintf(s->options, sizeof(s->options), "%s", buf_text(&options));
    (void)snprintf(s->model, sizeof(s->model), "%s", o->model);
    (void)snprintf(s->dtype, sizeof(s->dtype), "%s", dtype_name(device_dtype(o->dtype)));
    (void)snprintf(s->fusion, sizeof(s->fusion), "%s", fusion_name(device_fusion(o)));
    (void)snprintf(s->backend, sizeof(s->backend), "%s",
                   setup->backend->table->describe(setup->backend));
    (void)snprintf(s->program, sizeof(s->program), "ringtrain %s%s%s", RINGMASTER_VERSION,
                   comm_size(setup->comm) > 1 ? ", " : "", ranks_library(setup->comm));
    /* Set by ringmaster; a trainer that was started by hand has no id. */
    const char *run = getenv(ATTEMPT_RUN_VARIABLE);
    (void)snprintf(s->run, sizeof(s->run), "%s", run != NULL ? run : "");
    describe_data(setup, s);
    keep_end(s->init, o->init != NULL ? o->init : "none");
    s->classes = (int64_t)setup->data.classes;
    s->ranks = comm_size(setup->comm);
    s->accumulate = o->accumulate;
    s->batch_size = o->batch_size;
    s->threads = setup->threads.compute;
    s->seed = o->seed;
    s->image_size = setup->request.image_size;
    s->total_steps = setup->schedule.total_steps;
    /* Images that an epoch leaves out are not in it. */
    s->epoch_images = setup->steps_per_epoch * s->global_batch;
    if (setup->first)
        log_info("ranks: %" PRId64 "; threads per rank: %d compute, %d data; %s", s->ranks,
                 setup->threads.compute, setup->threads.data, s->backend);
    return 0;
}

/* The best model needs evaluations. The default keeps a best model if it can, and is silently
 * dropped without an evaluation; a metric that was asked for by name is not. */
static int open_best(struct best *b, const struct run_setup *setup, struct error *err) {
    const struct options *o = setup->options;
    if (best_open(b, o->keep_best, setup->inputs.checkpoints, setup->request.model, err) != 0)
        return -1;
    bool none = b->folder[0] == '\0';
    /* Without evaluations nothing is ever compared. */
    if (!setup->inputs.scored)
        b->folder[0] = '\0';
    if (!setup->inputs.scored && b->metric[0] != '\0')
        return error_set(err, EXIT_CODE_USAGE,
                         "--keep-best %s: there is nothing to evaluate on; give --validation DIR",
                         b->metric);
    if (o->publish == OPTION_PUBLISH_BEST && (none || !setup->inputs.scored))
        return error_set(err, EXIT_CODE_USAGE, "--publish best: no best model is kept; %s",
                         none ? "leave --keep-best none out" : "give --validation DIR");
    return 0;
}

/* Each size of --progressive gets a network of its own, which may be too small for its pooling. The
 * message names the flag with the size that the network refuses. */
static int check_sizes(const struct task_request *request, struct error *err) {
    struct picture_sizes sizes;
    if (picture_sizes_parse(&sizes, request->options->progressive, request->image_size, err) != 0)
        return -1;
    for (int i = 0; i < sizes.count; i++)
        if (network_check_side(request->model, sizes.side[i], err) != 0)
            return error_wrap(err, "--progressive");
    return 0;
}

/* Workers of ps-async have nothing in common between two checkpoints. These options need values
 * that are the same, or whole, on some rank in each step. */
static int check_async(const struct options *o, struct error *err) {
    if (o->verify_every > 0)
        return error_set(err, EXIT_CODE_USAGE,
                         "--verify-every with --strategy ps-async: workers have different weights "
                         "between two steps; leave one of them out");
    if (optimizer_adapts(o->optimizer))
        return error_set(err, EXIT_CODE_USAGE,
                         "--optimizer %s with --strategy ps-async: it needs norms of whole "
                         "tensors, which no server has; give another of them (sgd, adamw)",
                         options_optimizer_name(o->optimizer));
    return 0;
}

/* Checks all that can be checked before folders are scanned and networks compiled, which takes
 * long. All ranks check the flags, which are the same for them; only rank 0 looks at places in the
 * file system. */
static int check_flags(const struct run_setup *setup, struct error *err) {
    const struct task_request *request = &setup->request;
    const struct options *o = setup->options;
    if (o->histograms > 0 && o->strategy != OPTION_ALLREDUCE)
        return error_set(err, EXIT_CODE_USAGE,
                         "--histograms with --strategy %s: no rank has the sum of all gradients; "
                         "leave one of them out",
                         options_strategy_name((enum option_strategy)o->strategy));
    if (o->reduce_dtype != OPTION_F32 && o->strategy != OPTION_ALLREDUCE)
        return error_set(err, EXIT_CODE_USAGE,
                         "--reduce-dtype with --strategy %s: only allreduce sends gradients in "
                         "half precision; leave one of them out",
                         options_strategy_name((enum option_strategy)o->strategy));
    if (o->strategy == OPTION_PS_ASYNC && check_async(o, err) != 0)
        return -1;
    if (request->model->task == MODEL_CLASSIFY &&
        (network_check_side(request->model, request->image_size, err) != 0 ||
         check_sizes(request, err) != 0))
        return -1;
    if (learning_rate_check(o, images_a_step(setup), err) != 0)
        return -1;
    if (!setup->first)
        return 0;
    return inputs_check_places(&setup->inputs, err) != 0
               ? -1
               : pretrained_check(setup->options, setup->inputs.checkpoints, err);
}

/* What there is to tell once the network is there; its graph goes to TensorBoard. The board stays
 * closed if no flag asks for events. The graph is described anew, because that of the compiled
 * network has fused operators. */
static int open_report(struct training_run *job, struct error *err) {
    struct report *report = &job->reports.report;
    struct graph graph = {0};
    report_open(report, job->setup.first ? stdout : NULL, job->setup.options->log,
                job->setup.request.model);
    /* The column for waiting exists only with other ranks. */
    report->several = comm_size(job->setup.comm) > 1;
    if (!job->setup.first)
        return 0;
    if (board_open(&report->board, job->setup.inputs.events, job->setup.inputs.scored, err) != 0)
        return -1;
    if (!board_is_open(&report->board))
        return 0;
    const struct network_options n = network_of(job);
    const int result = network_describe(&graph, &job->steps.net, &n, err) != 0
                           ? -1
                           : board_graph(&report->board, &graph, err);
    graph_done(&graph);
    return result;
}

/* On failure JOB is partly open, and training_run_give_up may be called on it: what was not opened
 * is zero, and the board is marked as closed. */
int training_run_open(struct training_run *job, const struct options *o, const struct roles *roles,
                      struct error *err) {
    struct comm *comm = roles->own;
    *job = (struct training_run){
        .setup = {.options = o, .comm = comm, .all = roles->all, .first = comm_rank(comm) == 0}};
    if (o->strategy == OPTION_PS_ASYNC && comm_self_open(&job->setup.apart, err) != 0)
        return -1;
    /* A zeroed board would have file descriptor 0. */
    job->reports.report.board = (struct board)BOARD_CLOSED;
    start_times_begin(&job->reports.start, clock_now());
    const struct model *model = model_need(o->model, err);
    if (model == NULL)
        return -1;
    job->setup.request = (struct task_request){
        .options = o,
        .inputs = &job->setup.inputs,
        .comm = comm,
        .model = model,
        .image_size = o->image_size > 0 ? (int)o->image_size : model->image_size,
    };
    /* A chain from cheap to slow; task_open scans the data. */
    if (checkpoint_policy_open(&job->saves.keeping, o->checkpoint_every, o->mtbf, err) != 0 ||
        inputs_find(&job->setup.inputs, o, COMMAND_TRAIN, model->task, "", err) != 0 ||
        open_best(&job->saves.best, &job->setup, err) != 0 || check_flags(&job->setup, err) != 0 ||
        progress_open(&job->reports.progress, getenv(PROGRESS_VARIABLE), err) != 0 ||
        device_place(o, comm, true, err) != 0 ||
        threads_settle(&job->setup.threads, o, comm, err) != 0 ||
        task_open(&job->setup.data, &job->setup.request, err) != 0 ||
        settle_steps(&job->setup, &job->state.global_batch, err) != 0)
        return -1;
    start_times_mark(&job->reports.start, START_DATA, clock_now());
    if (run_setup_announce(&job->setup, job->state.global_batch, err) != 0 ||
        open_network(job, err) != 0 || describe(&job->setup, &job->state, err) != 0)
        return -1;
    /* The next mark is set when the weights are there (train.c). */
    start_times_mark(&job->reports.start, START_NETWORK, clock_now());
    /* The supervisor may show how much is left. */
    progress_total(&job->reports.progress, (uint64_t)job->setup.schedule.total_steps);
    job->reports.artifacts =
        (struct eval_artifacts){.folder = job->setup.inputs.out,
                                .events = &job->reports.report.board.evaluations,
                                .pictures = (size_t)o->pictures,
                                .seed = (uint64_t)o->seed,
                                .least_score = o->score_threshold};
    if (run_timeline_open(&job->reports.timeline, o->timeline, comm, err) != 0)
        return -1;
    /* The stepper gets the timeline only if it is asked for, since NULL makes its marks free. */
    if (o->timeline != NULL)
        job->steps.stepper.timeline = &job->reports.timeline.steps;
    return open_report(job, err);
}

/* Files and locks come first. What follows waits for the device, which may never answer. */
void training_run_done(struct training_run *job) {
    saving_done(&job->saves.saving);
    folder_lock_done(&job->saves.model_lock);
    folder_lock_done(&job->saves.lock);
    report_done(&job->reports.report);
    progress_done(&job->reports.progress);
    run_timeline_done(&job->reports.timeline);
    /* Closes all-reduces first: freeing memory that the device uses waits for them. If the device
     * does not finish, its memory stays until the process ends. */
    if (device_sum_close(job->steps.sums) != 0)
        return;
    stepper_done(&job->steps.stepper);
    run_steps_stop_loader(&job->steps);
    network_done(&job->steps.net);
    backend_close(job->setup.backend);
    task_close(&job->setup.data);
    comm_close(job->setup.apart);
}

/* No collective is entered and no device is awaited: they may be gone. With a device only the
 * loader's workers are ended, as the device may never release its batches. */
void training_run_give_up(struct training_run *job) {
    if (!saving_is_busy(&job->saves.saving)) /* else its thread may still run */
        saving_done(&job->saves.saving);
    folder_lock_done(&job->saves.model_lock);
    folder_lock_done(&job->saves.lock);
    report_done(&job->reports.report);
    progress_done(&job->reports.progress);
    if (job->setup.backend != NULL && job->setup.backend->table->device == NULL)
        run_steps_stop_loader(&job->steps);
    loader_stop(job->steps.loader);
}

/* After the barrier the stepper tells parameter servers that the run is over, with the exit
 * code. */
int training_run_leave(struct training_run *job, struct error *err) {
    if (run_timeline_write(&job->reports.timeline, job->setup.comm, err) != 0)
        return -1;
    /* No rank leaves while rank 0 still writes: the launcher would end it. */
    if (comm_barrier(job->setup.comm, err) != 0)
        return -1;
    stepper_done(&job->steps.stepper);
    return device_sum_finish(job->steps.sums, err);
}
