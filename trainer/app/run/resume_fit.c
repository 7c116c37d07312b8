#include "trainer/app/run/resume_fit.h"

#include "common/buf.h"
#include "common/log/log.h"
#include "common/run_id.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The checks go from what can never work to what is only worth a remark. Another network, other
 * classes or another option that fixes shapes are refused, because the tensors would not fit or
 * would mean something else. Settings of the recipe are refused unless the user has named this
 * checkpoint, which counts as consent. All else is a warning.
 *
 * Each refusal tells which flags let the run start. No file is read here: the caller has parsed the
 * state, so the unit test needs no checkpoint. */

/* Bytes of a list of differences; messages show its beginning. */
enum { NOTES_MAX = 64 * 1024 };

/* Advice that comes first where a file of weights decides what was refused. It is empty, or ends
 * with a comma before the other ways out. */
static const char *advice(bool by_init) {
    return by_init ? "the same --init, " : "";
}

/* Names come before numbers of classes, as another network explains those as well. */
static int check_network(const struct run_setup *setup, const struct run_state *state,
                         const struct run_state *before, const char *path, struct error *err) {
    if (strcmp(before->model, state->model) != 0)
        return error_set(err, EXIT_CODE_DATA,
                         "%s holds %s, this run trains %s; give another --checkpoint-dir, or "
                         "--resume none",
                         path, before->model, state->model);
    if (before->classes != state->classes)
        return error_set(err, EXIT_CODE_DATA,
                         "%s is for %" PRId64 " classes, the data has %" PRId64
                         "; give %sanother --checkpoint-dir, or --resume none",
                         path, before->classes, state->classes,
                         advice(setup->data.task->init_counts_classes));
    return 0;
}

/* Checks the options that the task lists as unchangeable (task.h). An option that either state
 * lacks was unknown to the program that wrote it, and is not compared. */
static int check_fixed(const struct run_setup *setup, const struct run_state *state,
                       const struct run_state *before, const char *path, struct error *err) {
    const struct task_fixed *row = setup->data.task->fixed;
    for (; row != NULL && row->option != NULL; row++) {
        int was_size = 0, is_size = 0;
        const char *was = run_state_option(before, row->option, &was_size);
        const char *is = run_state_option(state, row->option, &is_size);
        if (was == NULL || is == NULL ||
            (was_size == is_size && strncmp(was, is, (size_t)is_size) == 0))
            continue;
        return error_set(
            err, EXIT_CODE_DATA,
            "%s is %s %.*s, not %.*s; give %sanother --checkpoint-dir, or --resume none", path,
            row->words, was_size, was, is_size, is, advice(row->by_init));
    }
    return 0;
}

/* Classes are known by number, so their order matters. A list that one side lacks, or the tail
 * beyond the shorter one, is not compared; check_network has compared the counts. */
static int check_classes(const struct run_setup *setup, const char *text, const char *path,
                         struct error *err) {
    char **names = NULL;
    size_t count = 0, i = 0;
    if (run_state_classes(text, &names, &count, err) != 0)
        return -1;
    while (i < count && i < setup->data.classes &&
           strcmp(names[i], setup->data.class_names[i]) == 0)
        i++;
    int result = 0;
    if (i < count && i < setup->data.classes)
        result = error_set(
            err, EXIT_CODE_DATA,
            "class %zu is '%.64s' in the data and '%.64s' in %.150s; to start from its weights "
            "give --init %.150s and another --checkpoint-dir; to start without them --resume none",
            i, setup->data.class_names[i], names[i], path, path);
    run_state_free_classes(names, count);
    return result;
}

/* Reports an --init file other than the one the run began with; a resumed run needs none. */
static int add_init(struct buf *out, const struct run_state *now, const struct run_state *before,
                    struct error *err) {
    if (strcmp(now->init, "none") == 0 || before->init[0] == '\0' ||
        strcmp(now->init, before->init) == 0)
        return 0;
    return buf_printf(out, err, "%sinit %s (was %s)", out->size > 0 ? ", " : "", now->init,
                      before->init);
}

/* Returns the length of a run in epochs; 0 if its state does not tell. */
static double epochs_of(const struct run_state *s) {
    return s->epoch_images > 0
               ? (double)s->total_steps * (double)s->global_batch / (double)s->epoch_images
               : 0;
}

/* Reports another total number of steps: another number of ranks takes another number of steps for
 * the same epochs. A run that is at least as long in epochs as the earlier one is the same run on
 * other ranks, and no difference. */
static int add_length(struct buf *out, const struct run_state *now, const struct run_state *before,
                      struct error *err) {
    if (before->total_steps == 0 || now->total_steps >= before->total_steps ||
        epochs_of(now) >= epochs_of(before))
        return 0;
    return buf_printf(out, err, "%stotal_steps %" PRId64 " (was %" PRId64 ")",
                      out->size > 0 ? ", " : "", now->total_steps, before->total_steps);
}

/* The same run again publishes its model again; a run with any other setting is refused, because
 * the setting would have no effect. An unfinished run of more steps is a case of its own: the
 * advice then says how to end it with its model. */
static int check_nothing_left(const struct run_setup *setup, const struct run_state *state,
                              const struct run_state *before, struct error *err) {
    const struct run_state *now = state;
    /* States of format version 1 have no total, and count as finished. */
    const bool finished = before->total_steps == 0 || before->step >= before->total_steps;
    cleanup_buf struct buf text = {0};
    buf_init(&text, NOTES_MAX);
    if (run_state_differences(&text, now, before, SETTING_WAY | SETTING_RECIPE, err) != 0 ||
        add_init(&text, now, before, err) != 0 || add_length(&text, now, before, err) != 0)
        return -1;
    if (text.size == 0)
        return 0;
    char advice[96] = "";
    if (!finished)
        (void)snprintf(advice, sizeof(advice),
                       "to end it early, with its model, take one step more: --steps %" PRId64 "; ",
                       before->step + 1);
    return error_set(err, EXIT_CODE_CONFIG,
                     "nothing to train: %s holds a %s run (%" PRId64
                     " steps done) with other settings: %.300s; %sto train anew use another "
                     "--checkpoint-dir or --resume none",
                     setup->inputs.checkpoints, finished ? "finished" : "longer", before->step,
                     buf_text(&text), advice);
}

/* Settings of the machine, such as threads, may change; the later warning tells of them. */
static int check_recipe(const struct run_state *state, const struct run_state *before,
                        const char *path, struct error *err) {
    cleanup_buf struct buf text = {0};
    buf_init(&text, NOTES_MAX);
    if (run_state_differences(&text, state, before, SETTING_RECIPE, err) != 0)
        return -1;
    if (text.size == 0)
        return 0;
    return error_set(
        err, EXIT_CODE_CONFIG,
        "%.100s is from a run with other settings: %.300s; to continue with the new ones give "
        "--resume %.100s, to start over another --checkpoint-dir or --resume none",
        path, buf_text(&text), path);
}

static int warn_of_differences(const struct run_state *state, const struct run_state *before,
                               struct error *err) {
    cleanup_buf struct buf text = {0};
    buf_init(&text, NOTES_MAX);
    if (run_state_differences(&text, state, before, SETTING_ALL, err) != 0)
        return -1;
    if (text.size > 0)
        log_warning("other settings than the run that wrote the checkpoint, so the result may "
                    "differ from it: %s",
                    buf_text(&text));
    return 0;
}

/* ringmaster counts attempts from 1 in ATTEMPT_VARIABLE. Without a run id nothing could be
 * recognized as this run's. */
bool resume_fit_is_relaunched(const struct run_state *state) {
    const char *attempt = getenv(ATTEMPT_VARIABLE);
    return attempt != NULL && strtol(attempt, NULL, 10) > 1 && state->run[0] != '\0';
}

/* A run's id stays the same over its attempts. */
bool resume_fit_is_own(const struct run_state *state, const struct run_state *before) {
    return resume_fit_is_relaunched(state) && strcmp(before->run, state->run) == 0;
}

/* Nothing of JOB changes. */
int resume_fit_check(const struct training_run *job, const struct run_state *before,
                     const char *text, const char *path, bool asked, struct error *err) {
    const struct run_setup *setup = &job->setup;
    const struct run_state *state = &job->state;
    struct run_state after = *state;
    if (check_network(setup, state, before, path, err) != 0 ||
        check_classes(setup, text, path, err) != 0 ||
        check_fixed(setup, state, before, path, err) != 0)
        return -1;
    /* A trial on a copy: the position decides if anything is left to train. */
    run_state_go_on(&after, before);
    if (after.step >= setup->schedule.total_steps) {
        /* An earlier attempt of this run had the same request: publish its work even if the data
         * has changed since. */
        if (!resume_fit_is_own(state, before) && check_nothing_left(setup, state, before, err) != 0)
            return -1;
    } else if (!asked && check_recipe(state, before, path, err) != 0) {
        return -1;
    }
    return warn_of_differences(state, before, err);
}
