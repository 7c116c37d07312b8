#include "run/fit.h"

#include "common/buf.h"
#include "common/log.h"

#include <inttypes.h>
#include <string.h>

enum { NOTES_MAX = 64 * 1024 };

static const char *advice(bool by_init) {
    return by_init ? "the same --init, " : "";
}

static int check_network(const struct job *job, const struct run_state *before, const char *path,
                         struct error *err) {
    if (strcmp(before->model, job->state.model) != 0)
        return error_set(err, EXIT_CODE_DATA,
                         "%s holds %s, this run trains %s; give another --checkpoint-dir, or "
                         "--resume none",
                         path, before->model, job->state.model);
    if (before->classes != job->state.classes)
        return error_set(err, EXIT_CODE_DATA,
                         "%s is for %" PRId64 " classes, the data has %" PRId64
                         "; give %sanother --checkpoint-dir, or --resume none",
                         path, before->classes, job->state.classes,
                         advice(job->data.task->init_counts_classes));
    return 0;
}

static int check_fixed(const struct job *job, const struct run_state *before, const char *path,
                       struct error *err) {
    const struct task_fixed *row = job->data.task->fixed;
    for (; row != NULL && row->option != NULL; row++) {
        int was_size = 0, is_size = 0;
        const char *was = run_state_option(before, row->option, &was_size);
        const char *is = run_state_option(&job->state, row->option, &is_size);
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

/* A class's number means its name: order counts. */
static int check_classes(const struct job *job, const char *text, const char *path,
                         struct error *err) {
    char **names = NULL;
    size_t count = 0, i = 0;
    if (run_state_classes(text, &names, &count, err) != 0)
        return -1;
    while (i < count && i < job->data.classes && strcmp(names[i], job->data.class_names[i]) == 0)
        i++;
    int result = 0;
    if (i < count && i < job->data.classes)
        result = error_set(err, EXIT_CODE_DATA,
                           "class %zu is '%.64s' in the data and '%.64s' in %.150s; to begin with "
                           "its weights give --init %.150s and another --checkpoint-dir; to begin "
                           "without them --resume none",
                           i, job->data.class_names[i], names[i], path, path);
    run_state_free_classes(names, count);
    return result;
}

/* Another initial file than the run began with; one that goes on needs none. */
static int add_init(struct buf *out, const struct run_state *now, const struct run_state *before,
                    struct error *err) {
    if (strcmp(now->init, "none") == 0 || before->init[0] == '\0' ||
        strcmp(now->init, before->init) == 0)
        return 0;
    return buf_printf(out, err, "%sinit %s (was %s)", out->size > 0 ? ", " : "", now->init,
                      before->init);
}

static double epochs_of(const struct run_state *s) {
    return s->epoch_images > 0
               ? (double)s->total_steps * (double)s->global_batch / (double)s->epoch_images
               : 0;
}

/* Other ranks take another number of steps for the same epochs. */
static int add_length(struct buf *out, const struct run_state *now, const struct run_state *before,
                      struct error *err) {
    if (before->total_steps == 0 || now->total_steps >= before->total_steps ||
        epochs_of(now) >= epochs_of(before))
        return 0;
    return buf_printf(out, err, "%stotal_steps %" PRId64 " (was %" PRId64 ")",
                      out->size > 0 ? ", " : "", now->total_steps, before->total_steps);
}

/* The very same run again publishes its model again; any other one would be asked for in vain. */
static int check_nothing_left(const struct job *job, const struct run_state *before,
                              struct error *err) {
    const struct run_state *now = &job->state;
    const bool finished = before->total_steps == 0 || before->step >= before->total_steps;
    cleanup_buf struct buf text = {0};
    buf_init(&text, NOTES_MAX);
    if (run_state_differences(&text, now, before, SETTING_WAY | SETTING_RECIPE, err) != 0 ||
        add_init(&text, now, before, err) != 0 || add_length(&text, now, before, err) != 0)
        return -1;
    if (text.size == 0)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG,
                     "nothing to train: %s holds a %s run (%" PRId64
                     " steps done) with other settings: %.300s; use another --checkpoint-dir or "
                     "--resume none",
                     job->inputs.checkpoints, finished ? "finished" : "longer", before->step,
                     buf_text(&text));
}

static int check_recipe(const struct job *job, const struct run_state *before, const char *path,
                        struct error *err) {
    cleanup_buf struct buf text = {0};
    buf_init(&text, NOTES_MAX);
    if (run_state_differences(&text, &job->state, before, SETTING_RECIPE, err) != 0)
        return -1;
    if (text.size == 0)
        return 0;
    return error_set(
        err, EXIT_CODE_CONFIG,
        "%.100s is of a run with other settings: %.300s; to go on with the new ones "
        "give --resume %.100s, to begin anew another --checkpoint-dir or --resume none",
        path, buf_text(&text), path);
}

static int tell_differences(const struct job *job, const struct run_state *before,
                            struct error *err) {
    cleanup_buf struct buf text = {0};
    buf_init(&text, NOTES_MAX);
    if (run_state_differences(&text, &job->state, before, SETTING_ALL, err) != 0)
        return -1;
    if (text.size > 0)
        log_warning("not bit for bit the run that wrote the checkpoint: %s", buf_text(&text));
    return 0;
}

int fit_check(const struct job *job, const struct run_state *before, const char *text,
              const char *path, bool asked, struct error *err) {
    struct run_state after = job->state;
    if (check_network(job, before, path, err) != 0 || check_classes(job, text, path, err) != 0 ||
        check_fixed(job, before, path, err) != 0)
        return -1;
    run_state_go_on(&after, before);
    if (after.step >= job->schedule.total_steps) {
        if (check_nothing_left(job, before, err) != 0)
            return -1;
    } else if (!asked && check_recipe(job, before, path, err) != 0) {
        return -1;
    }
    return tell_differences(job, before, err);
}
