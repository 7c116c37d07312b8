#include "common/log/log.h"
#include "common/system/stop_signal.h"
#include "common/text/wrap.h"
#include "trainer/app/command/coco/command_coco.h"
#include "trainer/app/command/command.h"
#include "trainer/app/command/output/output.h"
#include "trainer/app/command/trained/eval_watch.h"
#include "trainer/app/command/trained/trained.h"
#include "trainer/app/device/device.h"
#include "trainer/app/device/ranks.h"
#include "trainer/app/device/wait_policy.h"
#include "trainer/app/options/flag.h"
#include "trainer/app/run/evaluate.h"
#include "trainer/app/run/report.h"
#include "trainer/app/task/class_confusion.h"
#include "trainer/app/weights/nan_check.h"

#include <stdio.h>

enum { TEXT_MAX = 64 * 1024, TABLE_MAX = 16 * 1024 * 1024 };

/* State of an evaluation. */
struct scoring {
    struct trained trained;
    struct report report;
    struct eval_artifacts artifacts;
    struct class_tally tally;
    struct buf table;
};

static void scoring_done(struct scoring *s) {
    buf_done(&s->table);
    class_tally_done(&s->tally);
    report_done(&s->report);
    trained_done(&s->trained);
}

static int open_model(struct scoring *s, struct error *err) {
    struct trained *t = &s->trained;
    char where[INPUT_PATH_MAX + sizeof("/config.json")];
    if (trained_describe(t, err) != 0)
        return -1;
    (void)snprintf(where, sizeof(where), "%s/config.json", t->inputs.model);
    if (trained_check(t, where, err) != 0 || trained_open_data(t, NULL, err) != 0 ||
        trained_artifacts(t, &s->artifacts, err) != 0 || trained_open_network(t, err) != 0)
        return -1;
    return trained_load(t, err);
}

/* Prints what a classification network gets wrong, and writes it to --out. */
static int report_classes(const struct scoring *s, struct error *err) {
    cleanup_buf struct buf text = {.max = TEXT_MAX};
    const char *out = s->trained.inputs.out;
    if (s->tally.classes == 0)
        return 0;
    if (out[0] != '\0' &&
        class_confusion_write(&s->tally, s->trained.config.class_names, out, err) != 0)
        return -1;
    if (out[0] != '\0')
        log_info("confusion matrix: %s/" CLASS_CONFUSION_FILE, out);
    return class_tally_print(&s->tally, s->trained.config.class_names,
                             &s->trained.data.validation.source, &text, err) != 0
               ? -1
               : output_text(buf_text(&text), err);
}

static int run(struct scoring *s, struct error *err) {
    struct trained *t = &s->trained;
    struct evaluation result;
    if (ranks_alone(t->comm))
        stop_signal_answer("stopping after this batch; press Ctrl-C again to stop at once");
    if (stop_signal_listen(err) != 0 || open_model(s, err) != 0)
        return -1;
    struct evaluate_options e = {
        .threads = t->threads.data,
        .line = &s->report.line,
        .artifacts = &s->artifacts,
        .table = &s->table,
    };
    buf_init(&s->table, TABLE_MAX);
    bool first = comm_rank(t->comm) == 0;
    if (t->model->task == MODEL_CLASSIFY) {
        if (first && t->inputs.out[0] != '\0' &&
            class_confusion_check(t->inputs.out, t->config.classes, err) != 0)
            return -1;
        if (class_tally_open(&s->tally, t->config.classes, true, err) != 0)
            return -1;
        e.tally = &s->tally;
    }
    report_open(&s->report, first ? stdout : NULL, OPTION_LOG_AUTO, t->model);
    if (evaluate(&t->net, t->comm, &t->data, &e, &result, err) != 0)
        return -1;
    if (result.stopped)
        return EXIT_CODE_STOPPED;
    if (first)
        sample_health_sum_up(&t->data.validation, t->data.bad_allowed);
    /* The metric line must stay the last one. */
    if ((first && report_classes(s, err) != 0) ||
        report_print(&s->report, buf_text(&s->table), err) != 0 ||
        report_evaluation(&s->report, &(struct report_weights){.epoch = t->config.epochs}, &result,
                          err) != 0)
        return -1;
    return nan_check_evaluation(&result, t->inputs.model, err);
}

int command_eval(int argc, char *const *argv, struct error *err) {
    if (flags_has_word(argc, argv, "coco"))
        return command_eval_coco(argc, argv, err);
    struct options options;
    struct comm *comm = NULL;
    if (options_parse(&options, COMMAND_EVAL, argc, argv, err) != 0 ||
        eval_watch_check(&options, err) != 0)
        return -1;
    wait_policy_settle((int)options.threads);
    if (ranks_open(options.comm, &comm, err) != 0)
        return -1;
    struct scoring s = {
        .trained = {.options = &options,
                    .command = COMMAND_EVAL,
                    .argc = argc,
                    .argv = argv,
                    .comm = comm},
        .report = {.board = BOARD_CLOSED},
    };
    int result = device_settle(&options, comm, err);
    if (result == 0)
        result = options.watch != NULL ? eval_watch(&s.trained, &s.report, &s.artifacts, err)
                                       : run(&s, err);
    scoring_done(&s);
    ranks_close(comm, result, err);
    return result;
}

void command_eval_help(FILE *out, int argc, char *const *argv) {
    wrap_printf(
        out, "usage: ringtrain eval --model-dir DIR --data DATA [--FLAG VALUE]...\n       "
             "ringtrain eval --watch CHECKPOINTS --data DATA [--FLAG VALUE]...\n\nScores a "
             "trained model, or a training's checkpoints as they come, on a folder of "
             "class folders, shards or a COCO data set, and prints the same line as training.\n\n");
    options_print(out, COMMAND_EVAL, argc, argv, device_has_cuda());
    command_eval_coco_help(out);
}
