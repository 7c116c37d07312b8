#include "trainer/app/run/evaluate.h"

#include "common/clock.h"
#include "common/system/stop_signal.h"
#include "trainer/app/step/next_batch.h"
#include "trainer/app/task/class_rows.h"
#include "trainer/app/task/score.h"
#include "trainer/data/dataset/loader.h"
#include "trainer/telemetry/status_text.h"

/* An evaluation is one pass over the validation set with the networks compiled for evaluation.
 * train.c calls it after epochs, and so do the commands that score or predict. Parameters and
 * running statistics are only read.
 *
 * Each rank scores its part of the set without talking to the others; the collectives come after
 * the last batch, in `run`. A rank that is stopped, or that runs out of data early, therefore still
 * takes part in them, and all ranks learn in TOTAL_STOPPED that the figures are meaningless. */

/* Seconds that one batch of an evaluation may take before the rank counts as stalled. The
 * supervisor learns of it through progress_mark after each batch. */
enum { BATCH_PATIENCE = 600 };
/* Seconds that the other ranks wait while rank 0 writes predictions: it paints every picture. */
enum { WRITING_PATIENCE = 7 * 24 * 3600 };

/* Sums over all ranks. They travel as doubles in one all-reduce; a rank that stops adds 1 to
 * TOTAL_STOPPED. */
enum total { TOTAL_IMAGES, TOTAL_STOPPED, TOTALS };

/* An evaluation under way on this rank. */
struct scoring {
    struct network *net;
    struct task_data *data;
    const struct evaluate_options *options;
    int ranks;
    struct score score;
    struct class_tally *tally;   /* the caller's, or `mistakes`; NULL: none */
    struct class_tally mistakes; /* for pictures of them */
    int64_t begun_at;            /* clock_now() */
    double totals[TOTALS];
};

/* Runs one batch through the network. The outputs that tally and score read are those of this batch
 * only, until the next one runs. */
static int score_one(struct scoring *s, const struct batch *batch, struct error *err) {
    struct pass *pass = network_pass(s->net, s->net->eval, batch, err);
    float metrics[MODEL_METRICS_MAX];
    if (pass == NULL || pass_feed(pass, batch, err) != 0 ||
        program_run(&pass->program, NULL, err) != 0 || pass_metrics(pass, metrics, err) != 0)
        return -1;
    int64_t images = 0;
    const struct task_outputs outputs = pass_outputs(pass, metrics);
    if (s->tally != NULL && class_tally_add(s->tally, batch, &outputs, err) != 0)
        return -1;
    int result = score_batch(&s->score, batch, &outputs, &images, err);
    s->totals[TOTAL_IMAGES] += (double)images;
    return result;
}

/* Assumes that the other ranks are as far as this one. */
static void show(const struct scoring *s) {
    int64_t now = clock_now();
    int64_t of = (int64_t)s->data->validation.source.count;
    int64_t done = (int64_t)s->totals[TOTAL_IMAGES] * s->ranks;
    const struct status_work at = {.verb = "evaluating",
                                   .thing = "images",
                                   .done = done < of ? done : of,
                                   .of = of,
                                   .seconds = (double)(now - s->begun_at) / (double)CLOCK_SECOND};
    status_text_show(s->options->line, now, &at);
}

/* A rank that was asked to stop ends its loop as if the data were at its end. The loader refuses a
 * file once this rank has met more bad ones than --bad-samples allows; sample_health_share checks
 * the sum over ranks later. */
static int score_all(struct scoring *s, struct loader *loader, struct error *err) {
    const struct evaluate_options *o = s->options;
    for (;;) {
        const struct batch *batch = NULL;
        switch (stop_signal_requested() ? NEXT_BATCH_STOP : next_batch_batch(loader, &batch, err)) {
        case NEXT_BATCH_BAD:
            return sample_health_refuse(&s->data->validation, s->data->bad_allowed, err);
        case NEXT_BATCH_ERROR:
            return -1;
        case NEXT_BATCH_END:
            return 0;
        case NEXT_BATCH_STOP:
            s->totals[TOTAL_STOPPED] = 1;
            return 0;
        case NEXT_BATCH_BATCH:
            break;
        }
        int result = score_one(s, batch, err);
        loader_release(loader, batch);
        if (result != 0)
            return -1;
        if (o->progress != NULL)
            progress_mark(o->progress, o->step, BATCH_PATIENCE);
        show(s);
    }
}

/* Chooses the tally; all ranks choose alike. A tally of the evaluation's own is opened only if
 * pictures of mistakes or results by class need one. Pairs of classes take a square of memory, so
 * they are counted up to CLASS_TALLY_PAIRS_OF classes only. */
static int tally_open(struct scoring *s, struct error *err) {
    const struct evaluate_options *o = s->options;
    s->tally = o->tally;
    const bool pictures = o->artifacts != NULL && o->artifacts->pictures > 0;
    if (s->tally != NULL || o->predictions != NULL || s->data->task->mistakes_show == NULL ||
        (!pictures && o->classes == NULL))
        return 0;
    s->tally = &s->mistakes;
    return class_tally_open(s->tally, s->data->classes,
                            o->classes != NULL && s->data->classes <= CLASS_TALLY_PAIRS_OF, err);
}

/* Results by class that do not fit are left out. */
static void list_classes(const struct scoring *s) {
    const struct task *task = s->data->task;
    struct buf *out = s->options->classes;
    int result = 0;
    if (s->tally != NULL)
        result = class_rows_of_tally(s->tally, s->data->class_names, out, NULL);
    else if (task->score_classes != NULL)
        result = task->score_classes(s->score.own, out, NULL);
    if (result != 0)
        buf_consume(out, out->size);
}

/* Rank 0 writes; it broadcasts its failure. The others wait for rank 0 as long as it takes to
 * paint, with a limit that only a lost host reaches. The broadcast tells them its error, so that
 * all ranks end with the same code. */
static int write_predictions(struct scoring *s, struct comm *comm, struct error *err) {
    const struct task *task = s->data->task;
    struct error told = {0};
    if (task->predictions_gather(s->score.own, comm, err) != 0)
        return -1;
    if (comm_rank(comm) == 0)
        (void)task->predictions_write(s->score.own, s->options->predictions, &told);
    comm_be_patient(comm, WRITING_PATIENCE);
    if (comm_broadcast(comm, &told, sizeof(told), 0, err) != 0)
        return -1;
    return told.code == EXIT_CODE_OK ? 0 : error_set(err, told.code, "%s", told.text);
}

/* The order of the collectives is the same on all ranks whatever happens to one of them: shared
 * faults, totals, then the scores. */
static int run(struct scoring *s, struct comm *comm, struct evaluation *ret, struct error *err) {
    struct task_data *data = s->data;
    const struct source *source = &data->validation.source;
    struct loader_options load = {
        .source = source,
        .sampler = {.count = source->count,
                    .ranks = s->ranks,
                    .rank = comm_rank(comm),
                    .batch = source->batch,
                    .accumulate = 1,
                    .groups = data->validation.groups},
        .faults = &data->validation.faults,
        .bad_allowed = data->bad_allowed,
        .epochs = 1,
        .threads = s->options->threads,
        /* Batches that are ready, in work, or held by the loop at once. */
        .depth = 3,
    };
    struct sample_counts found;
    cleanup_loader struct loader *loader = NULL;
    if (tally_open(s, err) != 0 || score_open(&s->score, data, err) != 0 ||
        loader_start(&load, &loader, err) != 0 || score_all(s, loader, err) != 0 ||
        sample_health_share(comm, &data->validation, data->bad_allowed, &found, err) != 0 ||
        comm_sum(comm, s->totals, TOTALS, COMM_F64, err) != 0)
        return error_wrap(err, "evaluating");
    /* Bad and damaged files are those of all ranks, as every rank knows from sample_health_share.
     */
    *ret = (struct evaluation){
        .images = (int64_t)s->totals[TOTAL_IMAGES],
        .bad = found.bad,
        .damaged = found.damaged,
        .classes = data->classes,
        .stopped = s->totals[TOTAL_STOPPED] > 0,
    };
    if (ret->stopped)
        return 0;
    const struct task_predictions *predictions = s->options->predictions;
    /* Scores are means over images, so there must be one. */
    if (ret->images == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: none of %zu pictures can be %s", source->name,
                         source->count, predictions != NULL ? "used" : "scored");
    if (predictions != NULL)
        return write_predictions(s, comm, err);
    if ((s->tally != NULL && class_tally_sum(s->tally, comm, err) != 0) ||
        score_end(&s->score, comm, ret, err) != 0)
        return error_wrap(err, "evaluating");
    struct buf *table = s->options->table;
    if (table != NULL && comm_rank(comm) == 0 && data->task->score_table != NULL &&
        data->task->score_table(s->score.own, table, err) != 0)
        return -1;
    if (s->options->classes != NULL && comm_rank(comm) == 0)
        list_classes(s);
    struct eval_artifacts *artifacts = s->options->artifacts;
    return artifacts != NULL && comm_rank(comm) == 0
               ? eval_artifacts_keep(artifacts, &s->score, s->tally, err)
               : 0;
}

/* A model that is only scored has no training set, so the canvases of the validation set are
 * used. */
void evaluate_canvases(struct network_options *ret, const struct task_data *data) {
    const struct sample_health *samples =
        data->training.canvas_count > 0 ? &data->training : &data->validation;
    ret->canvas_count = samples->canvas_count;
    for (int i = 0; i < samples->canvas_count; i++)
        ret->canvases[i] = (struct network_canvas){.height = samples->canvases[i].height,
                                                   .width = samples->canvases[i].width};
}

int evaluate(struct network *net, struct comm *comm, struct task_data *data,
             const struct evaluate_options *o, struct evaluation *ret, struct error *err) {
    struct scoring s = {
        .net = net, .data = data, .options = o, .ranks = comm_size(comm), .begun_at = clock_now()};
    int result = run(&s, comm, ret, err);
    score_close(&s.score);
    class_tally_done(&s.mistakes);
    return result;
}
