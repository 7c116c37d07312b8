#include "trainer/app/command/trained/eval_watch.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "common/system/stop_signal.h"
#include "trainer/app/device/ranks.h"
#include "trainer/app/options/interval.h"
#include "trainer/app/run/evaluate.h"
#include "trainer/app/run/report.h"
#include "trainer/app/run/run_state.h"
#include "trainer/app/task/detect_rules_io.h"
#include "trainer/app/weights/nan_check.h"
#include "trainer/app/weights/weights.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* All ranks take turns together. In each, rank 0 looks for the next checkpoint and tells the others
 * what it has found (struct turn). For a checkpoint its description and weights follow, and all
 * score their share of the data. Only rank 0 reads the folder, as two ranks could see it in
 * different states.
 *
 * The first checkpoint decides which network and which data are opened; they stay open. Later ones
 * only bring weights, and must describe the same network: a folder that another training has taken
 * over ends the watch.
 *
 * The end of the training is known by its last checkpoint, which has as many steps as it was to
 * have; nothing but the files connects the two programs. */

/* Ceiling of the messages of one look at the folder. */
enum { NOTES_MAX = 64 * 1024 };

/* What rank 0 has found, for the other ranks. */
enum find { FIND_NOTHING, FIND_CHECKPOINT, FIND_STOP };

/* Sent as bytes from rank 0 to the others, in numbers of one size. */
struct turn {
    int64_t find; /* enum find */
    int64_t step;
    int64_t last;      /* the training ended with this checkpoint */
    int64_t text_size; /* length of the text of its config, with the NUL */
    int64_t saved_at;  /* when it was written, as clock_wall(); 0: unknown */
};

/* State of one watch, on each rank. `deadline` counts from the last checkpoint scored. */
struct watching {
    struct trained *trained;
    struct report *report;
    struct eval_artifacts *artifacts;
    bool first;

    /* On rank 0 only: */
    struct checkpoint_watch watch;
    struct checkpoint_position seen;
    int64_t patience; /* nanoseconds */
    int64_t deadline;

    int64_t told; /* step of the newest score in the event file; -1: none yet */

    char *network; /* description of the open network; NULL: none is open */
};

static int parse_patience(const struct options *o, int64_t *ret, struct error *err) {
    struct interval interval;
    if (interval_parse(&interval, o->watch_patience, err) != 0 || interval.nanoseconds == 0)
        return error_set(err, EXIT_CODE_USAGE,
                         "--watch-patience: '%.64s' is not a time (45s, 30m, 2h)",
                         o->watch_patience);
    *ret = interval.nanoseconds;
    return 0;
}

int eval_watch_check(const struct options *o, struct error *err) {
    int64_t patience = 0;
    if (o->watch == NULL && o->tensorboard_dir != NULL)
        return error_set(err, EXIT_CODE_USAGE, "--tensorboard-dir needs --watch");
    if (o->watch != NULL && o->model_dir != NULL)
        return error_set(
            err, EXIT_CODE_USAGE,
            "--watch and --model-dir exclude each other: give the one that shall be scored");
    return parse_patience(o, &patience, err);
}

/* Sets *RET_LAST to whether the training ended with FILE: its state has the step, and the steps in
 * all. A state without the latter belongs to no last one. */
static int read_place(const struct safetensors *file, int64_t *ret_last, struct error *err) {
    struct run_state state;
    if (run_state_parse(&state, safetensors_note(file, CHECKPOINT_STATE), file->path, err) != 0)
        return -1;
    *ret_last = state.total_steps > 0 && state.step >= state.total_steps;
    return 0;
}

/* Returns when FILE was written, as clock_wall(); 0: unknown. The open descriptor is asked: at the
 * path there may be another file by now. */
static int64_t written_at(const struct safetensors *file) {
    struct stat status;
    if (!file->is_open || fstat(file->fd, &status) != 0)
        return 0;
    return status.st_mtim.tv_sec * CLOCK_SECOND + status.st_mtim.tv_nsec;
}

/* On rank 0: opens the next checkpoint in FILE, or reports the end of a wait. After FIND_NOTHING
 * all ranks begin another turn. checkpoint_watch_wait bounds each wait, so the others never wait
 * long in their broadcast. */
static int look(struct watching *w, struct safetensors *file, struct turn *turn,
                struct error *err) {
    cleanup_buf struct buf notes = {0};
    bool found = false;
    buf_init(&notes, NOTES_MAX);
    *turn = (struct turn){.find = FIND_NOTHING};
    if (checkpoint_watch_next(&w->watch, &w->seen, file, &found, &notes, err) != 0)
        return -1;
    report_notes(&notes);
    const char *text = found ? safetensors_note(file, CHECKPOINT_CONFIG) : NULL;
    if (found && text == NULL) {
        log_warning("%s does not describe its network: skipped", file->path);
        return 0;
    }
    if (found) {
        log_info("scoring %s", file->path);
        *turn = (struct turn){.find = FIND_CHECKPOINT,
                              .step = w->seen.step,
                              .text_size = (int64_t)strlen(text) + 1,
                              .saved_at = written_at(file)};
        return read_place(file, &turn->last, err);
    }
    if (clock_now() >= w->deadline)
        return error_set(err, EXIT_CODE_STALLED, "%s: no new checkpoint for %s (--watch-patience)",
                         w->watch.owned, w->trained->options->watch_patience);
    return checkpoint_watch_wait(&w->watch, stop_signal_descriptor(), w->deadline, err);
}

/* Describes the network without the values that differ between its checkpoints, as text to be
 * compared and freed. The number of epochs is such a value. */
static int describe(const struct model_config *config, const char *where, char **ret,
                    struct error *err) {
    struct model_config same = *config;
    same.epochs = 0;
    return model_config_text(&same, "", where, ret, err);
}

/* Opens data, artifacts, network and report for the network of the first checkpoint. The report
 * goes to rank 0's standard output and event file; other ranks keep theirs silent. */
static int open_all(struct watching *w, struct error *err) {
    struct trained *t = w->trained;
    const char *folder = t->options->watch;
    if (trained_check(t, folder, err) != 0)
        return -1;
    if (t->model->task == MODEL_CLASSIFY && t->options->out != NULL)
        return error_set(err, EXIT_CODE_USAGE,
                         "--out: with --watch it is for networks that detect; eval --model-dir "
                         "writes the confusion matrix of a network that classifies");
    if (trained_open_data(t, NULL, err) != 0 || trained_artifacts(t, w->artifacts, err) != 0 ||
        trained_open_network(t, err) != 0)
        return -1;
    w->artifacts->events = &w->report->board.evaluations;
    report_open(w->report, w->first ? stdout : NULL, OPTION_LOG_AUTO, t->model);
    return w->first ? board_open_watch(&w->report->board, t->inputs.events, err) : 0;
}

/* TEXT describes the network: opens the first one; later ones must be the same. Called by all ranks
 * with the same text, so they succeed or fail alike. */
static int fit(struct watching *w, const char *text, struct error *err) {
    const char *where = w->trained->options->watch;
    cleanup_json json_t *root = NULL;
    cleanup_model_config struct model_config config = {0};
    cleanup_free char *network = NULL;
    if (json_parse(text, strlen(text), where, &root, err) != 0 ||
        model_config_read(root, where, &config, err) != 0)
        return -1;
    /* An earlier version of this program may have started the training. */
    detect_complete_rules(&config);
    if (describe(&config, where, &network, err) != 0)
        return -1;
    if (w->network != NULL && strcmp(w->network, network) != 0)
        return error_set(
            err, EXIT_CODE_DATA,
            "%s: a training of another network, or with other classes, writes to this folder now",
            where);
    w->trained->config.epochs = config.epochs;
    if (w->network != NULL)
        return 0;
    w->trained->config = config;
    /* What was moved is not freed by the cleanups at the end. */
    config = (struct model_config){0};
    w->network = network;
    network = NULL;
    return open_all(w, err);
}

/* Prepares the network for the turn's checkpoint, on all ranks. */
static int take(struct watching *w, const struct safetensors *file, const struct turn *turn,
                struct error *err) {
    struct comm *comm = w->trained->comm;
    cleanup_free char *text = calloc(1, (size_t)turn->text_size);
    if (text == NULL)
        return error_no_memory(err, "a checkpoint's description");
    if (w->first)
        memcpy(text, safetensors_note(file, CHECKPOINT_CONFIG), (size_t)turn->text_size);
    if (comm_broadcast(comm, text, (size_t)turn->text_size, 0, err) != 0 ||
        fit(w, text, err) != 0 || (w->first && trained_read(w->trained, file, err) != 0))
        return -1;
    return weights_spread(&w->trained->net.store, comm, false, err);
}

/* Hides scores of this and later steps that an earlier watch, or this one for an earlier training,
 * left in the events' folder, so that no step appears twice. */
static int begin_events(struct watching *w, const struct turn *turn, struct error *err) {
    const bool again = turn->step <= w->told || w->told < 0;
    w->told = turn->step;
    return again ? board_begin(&w->report->board, turn->step, err) : 0;
}

/* Scores the weights that are loaded. Numbers that are not finite are a warning, as the training
 * may recover, but an error for its last checkpoint. */
static int score(struct watching *w, const struct turn *turn, bool *ret_stopped,
                 struct error *err) {
    struct trained *t = w->trained;
    struct evaluation result;
    struct error bad = {0};
    struct evaluate_options e = {
        .threads = t->threads.data, .line = &w->report->line, .artifacts = w->artifacts};
    w->artifacts->step = turn->step;
    if (begin_events(w, turn, err) != 0 ||
        evaluate(&t->net, t->comm, &t->data, &e, &result, err) != 0)
        return -1;
    *ret_stopped = result.stopped;
    if (result.stopped)
        return 0;
    if (w->first)
        sample_health_sum_up(&t->data.validation, t->data.bad_allowed);
    const struct report_weights scored = {turn->step, t->config.epochs, turn->saved_at};
    if (report_evaluation(w->report, &scored, &result, err) != 0)
        return -1;
    if (nan_check_evaluation(&result, "the checkpoint", &bad) == 0)
        return 0;
    if (turn->last)
        return error_set(err, bad.code, "%s", bad.text);
    if (w->first)
        log_warning("%s", bad.text);
    return 0;
}

/* Looks once and, if there is a checkpoint, scores it. A failure of rank 0 before the broadcast
 * ends the other ranks by ranks_close (device/ranks.h). */
static int turn_once(struct watching *w, struct turn *turn, struct error *err) {
    cleanup_safetensors struct safetensors file = {0};
    bool stopped = false;
    if (w->first && stop_signal_requested())
        *turn = (struct turn){.find = FIND_STOP};
    else if (w->first && look(w, &file, turn, err) != 0)
        return -1;
    if (comm_broadcast(w->trained->comm, turn, sizeof(*turn), 0, err) != 0)
        return -1;
    if (turn->find != FIND_CHECKPOINT)
        return 0;
    int result = take(w, &file, turn, err);
    /* The training may want to delete the file: do not keep it open while it is scored. */
    safetensors_done(&file);
    if (result != 0 || score(w, turn, &stopped, err) != 0)
        return -1;
    w->deadline = clock_now() + w->patience;
    if (stopped)
        turn->find = FIND_STOP;
    return 0;
}

/* Returns the exit code: a stop has one of its own, so that a caller does not take it for the end
 * of the training. */
static int watch(struct watching *w, struct error *err) {
    const struct options *o = w->trained->options;
    struct turn turn = {.find = FIND_NOTHING};
    if (ranks_alone(w->trained->comm))
        stop_signal_answer("stopping after this batch; press Ctrl-C again to stop at once");
    if (stop_signal_listen(err) != 0 || parse_patience(o, &w->patience, err) != 0)
        return -1;
    if (w->first && checkpoint_watch_open(&w->watch, o->watch, err) != 0)
        return error_wrap(err, "--watch");
    w->deadline = clock_now() + w->patience;
    if (w->first)
        log_info("waiting for checkpoints in %s", o->watch);
    while (turn.find != FIND_STOP && turn.last == 0)
        if (turn_once(w, &turn, err) != 0)
            return -1;
    if (report_evaluations(w->report, err) != 0)
        return -1;
    if (w->first && turn.find != FIND_STOP)
        log_info("the training in %s has ended with step %" PRId64, o->watch, turn.step);
    return turn.find == FIND_STOP ? EXIT_CODE_STOPPED : EXIT_CODE_OK;
}

/* The caller closes TRAINED, REPORT and ARTIFACTS, whatever was opened in them. */
int eval_watch(struct trained *t, struct report *report, struct eval_artifacts *artifacts,
               struct error *err) {
    struct watching w = {
        .trained = t,
        .report = report,
        .artifacts = artifacts,
        .first = comm_rank(t->comm) == 0,
        .watch = CHECKPOINT_WATCH_CLOSED,
        .seen = {.samples = -1},
        .told = -1,
    };
    int result = watch(&w, err);
    checkpoint_watch_done(&w.watch);
    free(w.network);
    return result;
}
