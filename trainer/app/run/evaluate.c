#include "run/evaluate.h"

#include "common/clock.h"
#include "run/stop.h"
#include "run/wait.h"
#include "set/labelled.h"
#include "task/samples.h"

/* Seconds that one batch of an evaluation may take before a rank counts as stalled. */
enum { BATCH_PATIENCE = 600 };

/* What all ranks add up. */
enum total { TOTAL_LOSS, TOTAL_TOP1, TOTAL_TOP5, TOTAL_IMAGES, TOTAL_STOPPED, TOTALS };

static int score(struct pass *pass, const struct batch *batch, double totals[TOTALS],
                 struct error *err) {
    float metrics[MODEL_METRICS_MAX];
    if (pass_feed(pass, batch, err) != 0 || program_run(&pass->program, NULL, err) != 0 ||
        pass_metrics(pass, metrics, err) != 0)
        return -1;
    totals[TOTAL_LOSS] += (double)metrics[METRIC_LOSS];
    totals[TOTAL_TOP1] += (double)metrics[2];
    totals[TOTAL_TOP5] += (double)metrics[3];
    totals[TOTAL_IMAGES] += (double)metrics[METRIC_SAMPLES];
    return 0;
}

/* The other ranks are taken to be as far as this one. */
static void show(const struct evaluate_options *o, int ranks, double images) {
    char text[STATUS_LINE_MAX];
    int64_t now = clock_now();
    if (!status_line_due(o->line, now))
        return;
    int64_t of = (int64_t)o->set->count;
    int64_t done = (int64_t)images * ranks;
    status_text_evaluation(text, done < of ? done : of, of);
    status_line_show(o->line, now, text);
}

static int score_all(struct network *net, struct loader *loader, const struct evaluate_options *o,
                     int ranks, double totals[TOTALS], struct error *err) {
    for (;;) {
        const struct batch *batch = NULL;
        switch (stop_requested() ? WAIT_STOP : wait_batch(loader, &batch, err)) {
        case WAIT_BAD:
            return samples_refuse(o->faults, o->set, o->bad_allowed, err);
        case WAIT_ERROR:
            return -1;
        case WAIT_END:
            return 0;
        case WAIT_STOP:
            totals[TOTAL_STOPPED] = 1;
            return 0;
        case WAIT_BATCH:
            break;
        }
        int result = score(&net->eval, batch, totals, err);
        loader_release(loader, batch);
        if (result != 0)
            return -1;
        if (o->progress != NULL)
            progress_mark(o->progress, o->step, BATCH_PATIENCE);
        show(o, ranks, totals[TOTAL_IMAGES]);
    }
}

int evaluate(struct network *net, struct comm *comm, const struct evaluate_options *o,
             struct evaluation *ret, struct error *err) {
    struct labelled recipe = {.set = o->set};
    struct source source;
    augment_defaults_eval(&recipe.augment, o->image_size);
    if (o->resize > 0)
        recipe.augment.resize_side = o->resize;
    if (labelled_source(&source, &recipe, o->batch, err) != 0)
        return -1;
    struct loader_options load = {
        .source = &source,
        .sampler = {.count = o->set->count,
                    .ranks = comm_size(comm),
                    .rank = comm_rank(comm),
                    .batch = o->batch,
                    .accumulate = 1},
        .faults = o->faults,
        .bad_allowed = o->bad_allowed,
        .epochs = 1,
        .threads = o->threads,
        .depth = 3,
    };

    cleanup_loader struct loader *loader = NULL;
    double totals[TOTALS] = {0};
    if (loader_start(&load, &loader, err) != 0 ||
        score_all(net, loader, o, comm_size(comm), totals, err) != 0 ||
        samples_share(comm, o->faults, o->set, o->bad_allowed, err) != 0 ||
        comm_sum(comm, totals, TOTALS, COMM_F64, err) != 0)
        return error_wrap(err, "evaluating");
    double images = totals[TOTAL_IMAGES];
    if (images == 0 && totals[TOTAL_STOPPED] == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: none of %zu pictures can be scored",
                         o->set->root != NULL ? o->set->root : "synthetic", o->set->count);
    double share = images > 0 ? 1 / images : 0;
    *ret = (struct evaluation){
        .top1 = totals[TOTAL_TOP1] * share,
        .top5 = totals[TOTAL_TOP5] * share,
        .loss = totals[TOTAL_LOSS] * share,
        .images = (int64_t)images,
        .bad = faults_count(o->faults, FAULT_BAD),
        .damaged = faults_count(o->faults, FAULT_DAMAGED),
        .stopped = totals[TOTAL_STOPPED] > 0,
    };
    return 0;
}
