/* ringtrain predict: applies a trained network to pictures without labels.
 *
 * A prediction is an evaluation (run/evaluate.c) of pictures that have no labels: the task writes
 * an answer for each instead of counting. All ranks list the same words of the command line and
 * take shares of that list, so they first agree on it. Rank 0 alone writes and reports.
 *
 * Names and pictures that cannot be used do not end the command. They are counted until all others
 * are done, and then --bad-samples decides whether the command has succeeded. */
#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/log/log.h"
#include "common/str.h"
#include "common/system/stop_signal.h"
#include "common/text/wrap.h"
#include "trainer/app/command/command.h"
#include "trainer/app/command/trained/trained.h"
#include "trainer/app/device/device.h"
#include "trainer/app/device/ranks.h"
#include "trainer/app/device/wait_policy.h"
#include "trainer/app/options/flag.h"
#include "trainer/app/run/evaluate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* State of one run. It must not move: `trained` must not. */
struct prediction {
    struct trained trained;
    struct picture_list pictures;
    struct status_line line;
    int64_t bad_allowed; /* limit of --bad-samples */
    int64_t bad_names;   /* names on the command line that lead to no picture */
    bool first;          /* this rank writes and reports */
};

/* Closes what is open, in any state. The line of progress is closed first, so that later messages
 * begin on a line of their own. */
static void prediction_done(struct prediction *p) {
    status_line_close(&p->line);
    trained_done(&p->trained);
    picture_list_done(&p->pictures);
}

/* Lists the pictures of all COUNT names. A name that leads to no picture is logged and counted; the
 * other pictures are still processed. A single name that leads nowhere is an error at once. */
static int list_pictures(struct prediction *p, char *const *words, int count, struct error *err) {
    char left[2048];
    for (int i = 0; i < count; i++) {
        struct error why = {0};
        if (picture_list_add(&p->pictures, words[i], &why) == 0)
            continue;
        if (why.code != EXIT_CODE_DATA || count == 1) {
            *err = why;
            return -1;
        }
        if (p->first)
            log_warning("%s", why.text);
        p->bad_names++;
    }
    if (p->pictures.count == 0)
        return error_set(err, EXIT_CODE_DATA, "none of the %d names leads to a picture", count);
    skipped_files_text(&p->pictures.left_out, left, sizeof(left));
    if (left[0] != '\0' && p->first)
        log_info("%zu picture%s; %s", p->pictures.count, STR_PLURAL(p->pictures.count), left);
    return 0;
}

/* Fails unless all ranks have the same list: each takes its share of it by numbers. A hash of all
 * paths is compared. Each path is hashed with its NUL, so that two lists cannot differ only in
 * where one path ends. */
static int agree(const struct prediction *p, struct error *err) {
    uint64_t hash = STR_HASH_START;
    for (size_t i = 0; i < p->pictures.count; i++)
        hash = str_hash(hash, p->pictures.paths[i], strlen(p->pictures.paths[i]) + 1);
    return ranks_agree(p->trained.comm, "the list of pictures", hash, EXIT_CODE_DATA, err);
}

/* Opens --out on the rank that writes; the others neither read nor make the folder. The task
 * refuses to replace anything but an earlier list (predictions_check). */
static int open_out(const struct prediction *p, const struct task_predictions *predictions,
                    struct error *err) {
    const struct task_data *data = &p->trained.data;
    if (!p->first)
        return 0;
    if (file_make_dirs(predictions->folder, err) != 0)
        return error_wrap(err, "--out");
    return data->task->predictions_check(data, predictions, err);
}

/* Opens the model in the order that trained.h asks for; the target is checked before the network is
 * compiled, which takes longer. */
static int open_model(struct prediction *p, const struct task_predictions *predictions,
                      struct error *err) {
    struct trained *t = &p->trained;
    char where[INPUT_PATH_MAX + sizeof("/config.json")];
    if (trained_describe(t, err) != 0)
        return -1;
    (void)snprintf(where, sizeof(where), "%s/config.json", t->inputs.model);
    if (trained_check(t, where, err) != 0 || trained_open_data(t, &p->pictures, err) != 0)
        return -1;
    /* Bad pictures are reported at the end; the others are still processed. The limit of
     * --bad-samples is kept for judge, and lifted for the evaluation. */
    p->bad_allowed = t->data.bad_allowed;
    t->data.bad_allowed = INT64_MAX;
    if (open_out(p, predictions, err) != 0 || trained_open_network(t, err) != 0)
        return -1;
    return trained_load(t, err);
}

/* Decides the exit code when some of the pictures were unusable. Bad ones are names without a
 * picture, pictures that this rank has skipped while listing, and those that no rank could decode;
 * `faults` is of all ranks. */
static int judge(struct prediction *p, struct error *err) {
    struct task_data *data = &p->trained.data;
    int64_t bad = p->bad_names + data->bad_given +
                  bad_samples_count(&data->validation.faults, BAD_SAMPLE_BAD);
    int64_t all = p->bad_names + (int64_t)p->pictures.count;
    if (p->first) {
        sample_health_sum_up(&data->validation, data->bad_allowed);
        log_info("%" PRId64 " of %" PRId64 " picture%s: predictions in %s", all - bad, all,
                 STR_PLURAL(all), p->trained.options->out);
    }
    if (bad <= p->bad_allowed)
        return EXIT_CODE_OK;
    return error_set(err, EXIT_CODE_DATA,
                     "%" PRId64 " of %" PRId64
                     " pictures cannot be used; the predictions of the others are in %s "
                     "(--bad-samples skip counts that as success)",
                     bad, all, p->trained.options->out);
}

static int run(struct prediction *p, char *const *words, int count, struct error *err) {
    struct trained *t = &p->trained;
    const struct options *o = t->options;
    struct evaluation result;
    const struct task_predictions predictions = {.folder = o->out,
                                                 .least_score = o->score_threshold,
                                                 .most = (size_t)o->top,
                                                 .png = o->format == OPTION_PNG,
                                                 .font = o->font};
    p->first = comm_rank(t->comm) == 0;
    if (ranks_alone(t->comm))
        stop_signal_answer("stopping after this batch; press Ctrl-C again to stop at once");
    if (stop_signal_listen(err) != 0 || list_pictures(p, words, count, err) != 0 ||
        agree(p, err) != 0 || open_model(p, &predictions, err) != 0)
        return -1;
    if (p->first)
        status_line_open(&p->line, STDERR_FILENO);
    const struct evaluate_options e = {
        .threads = t->threads.data, .line = &p->line, .predictions = &predictions};
    if (evaluate(&t->net, t->comm, &t->data, &e, &result, err) != 0)
        return -1;
    /* After a stop the predictions of the batches that were done are incomplete, and no verdict on
     * the pictures is given. */
    return result.stopped ? EXIT_CODE_STOPPED : judge(p, err);
}

/* The ranks are connected, and closed with the outcome, so that a rank that fails ends the
 * others. */
static int with_ranks(const struct options *o, int argc, char *const *argv, char *const *words,
                      int count, struct error *err) {
    struct comm *comm = NULL;
    struct options settled = *o;
    wait_policy_settle((int)o->threads);
    if (ranks_open(o->comm, &comm, err) != 0)
        return -1;
    struct prediction p = {.line = STATUS_LINE_SILENT,
                           .trained = {.options = &settled,
                                       .command = COMMAND_PREDICT,
                                       .argc = argc,
                                       .argv = argv,
                                       .comm = comm}};
    int result = device_settle(&settled, comm, err);
    if (result == 0)
        result = run(&p, words, count, err);
    prediction_done(&p);
    ranks_close(comm, result, err);
    return result;
}

/* Flags and pictures may be mixed on the line. Each list has room for one word more than it can
 * get: calloc leaves a NULL at its end. */
int command_predict(int argc, char *const *argv, struct error *err) {
    cleanup_free char **flags = calloc((size_t)argc + 1, sizeof(*flags));
    cleanup_free char **words = calloc((size_t)argc + 1, sizeof(*words));
    struct options options;
    int flag_count = 0, count = 0;
    if (flags == NULL || words == NULL)
        return error_no_memory(err, "the command line");
    flags_split(argc, argv, flags, &flag_count, words, &count);
    if (options_parse(&options, COMMAND_PREDICT, flag_count, flags, err) != 0)
        return -1;
    if (count == 0 || options.out == NULL)
        return error_set(
            err, EXIT_CODE_USAGE,
            "%s missing; usage: ringtrain predict --model-dir DIR --out DIR PICTURE...",
            count > 0     ? "--out is"
            : options.out ? "PICTURE is"
                          : "--out and PICTURE are");
    return with_ranks(&options, flag_count, flags, words, count, err);
}

void command_predict_help(FILE *out, int argc, char *const *argv) {
    wrap_printf(
        out,
        "usage: ringtrain predict --model-dir DIR --out DIR [--FLAG VALUE]... PICTURE...\n\nSays "
        "what a trained network sees in pictures: files, and folders of them. A network that tells "
        "classes apart writes the most probable ones to DIR/predictions.json; one that finds "
        "objects a list for pycocotools' loadRes, the pictures as COCO's JSON to "
        "DIR/pictures.json, and every picture with its objects painted over it; nothing that is "
        "there already is written over but an earlier list. A picture that cannot be used is named "
        "by name; the exit code is %d then, when more are bad than --bad-samples allows.\n\n",
        EXIT_CODE_DATA);
    options_print(out, COMMAND_PREDICT, argc, argv, device_has_cuda());
}
