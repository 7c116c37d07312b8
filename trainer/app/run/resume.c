#include "trainer/app/run/resume.h"

#include "common/buf.h"
#include "common/file/output_path.h"
#include "common/log/log.h"
#include "common/str.h"
#include "trainer/app/run/bn_statistics.h"
#include "trainer/app/run/resume_fit.h"
#include "trainer/app/step/fp16_fold_check.h"
#include "trainer/app/weights/pretrained.h"
#include "trainer/app/weights/weights.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/optim/optimizer.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a run begins, in order of precedence: a checkpoint that an earlier attempt of this very run
 * wrote; the checkpoint that --resume names; with --resume auto the newest valid one of the folder;
 * and else the seed, with --init on top of it.
 *
 * Only rank 0 reads files, in read_first. Its weights and state then go to all ranks, so that ranks
 * need no common file system. The stepper is last, because it takes its loss scale and its number
 * of updates from the state that came.
 *
 * An error on rank 0 ends resume_job there before the broadcast. The other ranks, which wait in it,
 * are ended as comm.h describes for any rank that fails. */

/* Bytes of remarks that reading a folder or a file of weights may leave for the log. */
enum { NOTES_MAX = 64 * 1024 };

/* The newest checkpoint in the folder must not be newer than those this run will write: if the run
 * does not resume from it, a new lineage begins. Otherwise the next --resume auto would take the
 * older run's checkpoint, which has more samples, instead of this run's. */
static int settle_lineage(struct run_state *s, const char *checkpoints, struct error *err) {
    const struct checkpoint_position own = {.lineage = s->lineage, .samples = s->samples};
    struct checkpoint_position newest = {0};
    bool found = false;
    if (checkpoint_newest(checkpoints, &newest, &found, err) != 0)
        return -1;
    if (found && checkpoint_position_compare(&own, &newest) < 0)
        s->lineage = newest.lineage + 1;
    return 0;
}

/* A checkpoint that does not name its optimizer was written when there was only SGD. The names are
 * compared by length and bytes, since options are words within a longer text. */
static bool same_optimizer(const struct run_state *now, const struct run_state *before) {
    static const char first[] = "sgd";
    int was_size = (int)strlen(first), is_size = was_size;
    const char *was = run_state_option(before, "optimizer", &was_size);
    const char *is = run_state_option(now, "optimizer", &is_size);
    was = was != NULL ? was : first;
    is = is != NULL ? is : first;
    return was_size == is_size && strncmp(was, is, (size_t)is_size) == 0;
}

/* What another optimizer keeps is of no use to this one: its own begins at zero. A moving average
 * of weights does not depend on the optimizer and is read apart (read_average). */
static int read_optimizer(struct training_run *job, const struct run_state *before,
                          const struct safetensors *file, struct error *err) {
    cleanup_weights struct weights w = {0};
    if (same_optimizer(&job->state, before))
        return weights_list(&w, &job->steps.net.store, WEIGHTS_OPTIMIZER, 0, err) != 0
                   ? -1
                   : weights_read(&w, file, err);
    log_warning("%s is from a run with another optimizer: its state is not read, and that of %s "
                "begins at zero",
                file->path,
                optimizer_row((enum optimizer_kind)job->setup.options->optimizer)->name);
    return 0;
}

/* A run that begins to average its weights begins with those of the checkpoint. It also begins so
 * if the file lacks the average of any tensor. */
static int read_average(struct training_run *job, const struct safetensors *file,
                        struct error *err) {
    cleanup_weights struct weights w = {0};
    if (weights_list(&w, &job->steps.net.store, WEIGHTS_AVERAGE, 0, err) != 0)
        return -1;
    return weights_are_in(&w, file) ? weights_read(&w, file, err)
                                    : store_start_average(&job->steps.net.store, err);
}

/* All tensors of the model must be in the file with their shapes. */
static int read_weights(struct training_run *job, const struct run_state *before,
                        const struct safetensors *file, struct error *err) {
    cleanup_weights struct weights w = {0};
    if (weights_list(&w, &job->steps.net.store, WEIGHTS_MODEL, 0, err) != 0 ||
        weights_read(&w, file, err) != 0 || read_optimizer(job, before, file, err) != 0)
        return -1;
    return read_average(job, file, err);
}

/* Fit is checked before the first tensor is read, as reading takes long and overwrites the store.
 * On failure the store may be half filled, and the run ends. */
static int take_over(struct training_run *job, const struct safetensors *file, bool asked,
                     struct bn_statistics *statistics, struct error *err) {
    const char *text = safetensors_note(file, CHECKPOINT_STATE);
    struct run_state before;
    if (text == NULL)
        return error_set(err, EXIT_CODE_DATA, "%s holds no run state", file->path);
    if (run_state_parse(&before, text, file->path, err) != 0 ||
        resume_fit_check(job, &before, text, file->path, asked, err) != 0)
        return -1;
    if (read_weights(job, &before, file, err) != 0)
        return -1;
    run_state_go_on(&job->state, &before);
    if (!same_optimizer(&job->state, &before))
        job->state.updates = 0;
    char former[96] = "";
    if (job->state.step != before.step)
        (void)snprintf(former, sizeof(former),
                       " (%" PRId64 " in the checkpoint, whose steps or data had another size)",
                       before.step);
    log_info("resumed from %s: %" PRId64 " step%s done%s", file->path, job->state.step,
             STR_PLURAL(job->state.step), former);
    if (job->setup.options->init != NULL)
        log_warning("--init %s is not read: the weights are those of %s; --resume none starts with "
                    "the former",
                    job->setup.options->init, file->path);
    return bn_statistics_read(statistics, &job->steps, job->setup.comm, file, err);
}

/* ASKED: this checkpoint was named by the user, or is of this very run. */
static int resume_from(struct training_run *job, const struct safetensors *file, bool asked,
                       struct bn_statistics *statistics, struct error *err) {
    int result = take_over(job, file, asked, statistics, err);
    /* A failure of the system is no sign of damaged data. */
    if (result != 0 && err->os_errno != 0 && err->code == EXIT_CODE_DATA)
        err->code = EXIT_CODE_CONFIG; /* the file was valid a moment ago */
    return result;
}

/* Reads --init on top of the weights from the seed: tensors that the file lacks, such as a new last
 * layer, keep those. The file is refused where the run would overwrite it with its own model at the
 * end. */
static int init_from(struct training_run *job, const char *given, struct error *err) {
    cleanup_buf struct buf notes = {0};
    char path[PATH_MAX];
    char model[PATH_MAX + sizeof("/model.safetensors")];
    buf_init(&notes, NOTES_MAX);
    if (pretrained_path(given, path, err) != 0)
        return -1;
    (void)snprintf(model, sizeof(model), "%s/model.safetensors", job->setup.inputs.model);
    if (output_path_is_same(path, model))
        return error_set(
            err, EXIT_CODE_CONFIG,
            "--init: %s is where this run writes its own model; give another --model-dir", path);
    if (pretrained_read(&job->steps.net.store, job->steps.net.model->names, path,
                        job->setup.options->init_prefix, &notes, err) != 0)
        return error_wrap(err, "--init");
    log_info("initial weights from %s", path);
    report_notes(&notes);
    return 0;
}

/* A folder with only damaged checkpoints is not an empty one: starting over would overwrite files
 * that may still be recoverable. */
static int refuse_damaged(const char *checkpoints, const struct buf *notes, struct error *err) {
    if (notes->size == 0)
        return 0;
    return error_set(err, EXIT_CODE_DATA,
                     "%s: none of its checkpoints is valid (%.*s); repair or remove them, give "
                     "another --checkpoint-dir, or start at step 0 with --resume none",
                     checkpoints, (int)strcspn(buf_text(notes), "\n"), buf_text(notes));
}

/* Looks for the newest valid checkpoint. Takes it if WANTED, else warns of it, because a later
 * --resume auto would take it. */
static int resume_newest(struct training_run *job, bool wanted, bool *ret_resumed,
                         struct bn_statistics *statistics, struct error *err) {
    cleanup_safetensors struct safetensors file = {0};
    cleanup_buf struct buf notes = {0};
    struct checkpoint_position position = {0};
    bool found = false;
    buf_init(&notes, NOTES_MAX);
    if (checkpoint_find(job->setup.inputs.checkpoints, NULL, &file, &position, &found, &notes,
                        err) != 0)
        return -1;
    int refused = wanted && !found ? refuse_damaged(job->setup.inputs.checkpoints, &notes, err) : 0;
    report_notes(&notes);
    if (refused != 0)
        return -1;
    *ret_resumed = found && wanted;
    if (found && !wanted)
        log_warning("%s holds a checkpoint of step %" PRId64 " of an earlier run: it counts as "
                    "older than what this run writes, and goes as this run's checkpoints come",
                    job->setup.inputs.checkpoints, position.step);
    return *ret_resumed ? resume_from(job, &file, false, statistics, err) : 0;
}

/* Returns false as well for a file without a valid state. */
static bool is_own_file(const struct run_state *state, const struct safetensors *file) {
    struct run_state before;
    const char *text = safetensors_note(file, CHECKPOINT_STATE);
    return run_state_parse(&before, text, file->path, NULL) == 0 &&
           resume_fit_is_own(state, &before);
}

/* A relaunched run resumes from the newest checkpoint that it wrote itself, whatever --resume said
 * about its start. If it has written none, it starts as at first. */
static int resume_own(struct training_run *job, bool *ret_resumed, struct bn_statistics *statistics,
                      struct error *err) {
    struct checkpoint_position position = {0};
    const struct checkpoint_position *below = NULL;
    *ret_resumed = false;
    for (bool found = resume_fit_is_relaunched(&job->state); found && !*ret_resumed;) {
        cleanup_safetensors struct safetensors file = {0};
        cleanup_buf struct buf notes = {0};
        buf_init(&notes, NOTES_MAX);
        /* Each round looks below the position of the last one, from the newest to older ones:
         * checkpoints of other runs in the folder are passed over. */
        if (checkpoint_find(job->setup.inputs.checkpoints, below, &file, &position, &found, &notes,
                            err) != 0)
            return -1;
        below = &position;
        report_notes(&notes);
        *ret_resumed = found && is_own_file(&job->state, &file);
        if (*ret_resumed && resume_from(job, &file, true, statistics, err) != 0)
            return -1;
    }
    return 0;
}

/* Always logged, so that a user who expected the run to resume sees that it does not. */
static void log_beginning(const struct run_setup *setup, const struct run_state *state,
                          bool automatic) {
    if (automatic)
        log_info("starting at step 0: %s holds no checkpoint", setup->inputs.checkpoints);
    else if (resume_fit_is_relaunched(state))
        log_info("starting at step 0: --resume none, and %s holds no checkpoint of this run",
                 setup->inputs.checkpoints);
    else
        log_info("starting at step 0: --resume none");
}

/* Fills the store and, if the run resumes, the state. A named checkpoint is opened directly, so it
 * may lie in any folder. */
static int read_start(struct training_run *job, struct bn_statistics *statistics,
                      struct error *err) {
    const char *resume = job->setup.options->resume;
    bool resumed = false;
    if (resume_own(job, &resumed, statistics, err) != 0)
        return -1;
    if (resumed)
        return 0;
    bool automatic = strcmp(resume, "auto") == 0;
    if (!automatic && strcmp(resume, "none") != 0) {
        cleanup_safetensors struct safetensors file = {0};
        if (checkpoint_open(resume, &file, err) != 0)
            return error_wrap(err, "--resume");
        return resume_from(job, &file, true, statistics, err);
    }
    if (resume_newest(job, automatic, &resumed, statistics, err) != 0)
        return -1;
    if (resumed)
        return 0;
    log_beginning(&job->setup, &job->state, automatic);
    if (store_start(&job->steps.net.store, (uint64_t)job->setup.options->seed, err) != 0)
        return -1;
    if (job->setup.options->init != NULL && init_from(job, job->setup.options->init, err) != 0)
        return -1;
    return store_start_average(&job->steps.net.store, err);
}

/* Adds advice about a checkpoint that the system does not let us read. The error keeps its number,
 * so that the caller still sees a failure of the system in it. Returns -1, for the caller to
 * return. */
static int advise(const struct run_setup *setup, struct error *err) {
    char words[ERROR_TEXT_MAX];
    const bool of_checkpoint = strstr(err->text, setup->inputs.checkpoints) != NULL ||
                               strstr(err->text, setup->options->resume) != NULL;
    if (err->os_errno == 0 || err->code != EXIT_CODE_CONFIG || !of_checkpoint)
        return -1;
    const int number = err->os_errno;
    (void)snprintf(words, sizeof(words), "%s", err->text);
    (void)error_set(err, EXIT_CODE_CONFIG,
                    "%.600s; nothing was written: make it readable and start again, or give "
                    "another --checkpoint-dir",
                    words);
    err->os_errno = number;
    return -1;
}

/* The work of rank 0. A best model is taken over only by a run that continues: for a new one, the
 * old score would hide its own. */
static int read_first(struct training_run *job, struct bn_statistics *statistics,
                      struct error *err) {
    if (read_start(job, statistics, err) != 0 || fp16_fold_check(&job->steps.net, err) != 0 ||
        settle_lineage(&job->state, job->setup.inputs.checkpoints, err) != 0)
        return advise(&job->setup, err);
    if (job->state.step > 0)
        best_resume(&job->saves.best, job->state.lineage, job->state.samples);
    return 0;
}

/* The state is plain data without pointers, so its bytes go to the other ranks as they are. */
static int spread(struct training_run *job, struct error *err) {
    return weights_spread(&job->steps.net.store, job->setup.comm, true, err) != 0
               ? -1
               : comm_broadcast(job->setup.comm, &job->state, sizeof(job->state), 0, err);
}

/* A growing loss scale continues with its last value; a fixed one is that of the flag. Nothing is
 * done for a fresh run: the stepper has opened with its initial values. */
static int resume_stepper(struct training_run *job, struct error *err) {
    const struct options *o = job->setup.options;
    const struct run_state *s = &job->state;
    struct stepper *stepper = &job->steps.stepper;
    const bool grows =
        o->dtype == OPTION_F16 && o->loss_scale_growth > 0 && s->loss_scale[0] != '\0';
    if (!grows && s->updates == 0)
        return 0;
    return step_resume(stepper, grows ? strtof(s->loss_scale, NULL) : stepper->loss_scale,
                       grows ? (int)s->good_steps : 0, s->updates, err);
}

/* The last step compares all ranks' weights, so that a fault of the transfer is found here and not
 * as a slow divergence. */
int resume_job(struct training_run *job, struct error *err) {
    cleanup_bn_statistics struct bn_statistics statistics = {0};
    if (job->setup.first && read_first(job, &statistics, err) != 0)
        return -1;
    if (spread(job, err) != 0 ||
        bn_statistics_scatter(&statistics, &job->steps, job->setup.comm, err) != 0 ||
        resume_stepper(job, err) != 0)
        return -1;
    return run_steps_verify(&job->steps, job->setup.comm, err);
}
