#include "common/trials/trials_lead.h"

#include "common/log/log.h"
#include "common/str.h"
#include "common/trials/trials_page.h"

#include <stdio.h>
#include <stdlib.h>

enum { TEXT_MAX = 32 * 1024 * 1024 };

int trials_lock(struct folder_lock *lock, const char *folder, const char *program,
                struct error *err) {
    char holder[FOLDER_LOCK_TEXT];
    bool taken = false;
    if (folder_lock_take(lock, folder, program, holder, &taken, err) != 0)
        return -1;
    return taken ? 0
                 : error_set(err, EXIT_CODE_CONFIG, "%s: other trials are writing there: %s",
                             folder, holder);
}

static int print(const struct trials_request *r, struct error *err) {
    cleanup_buf struct buf text;
    buf_init(&text, TEXT_MAX);
    if (trials_write(r->state, r->program->name, r->folder, err) != 0 ||
        trials_text(r->state, &text, err) != 0)
        return -1;
    if (fputs(buf_text(&text), stdout) < 0 || fflush(stdout) != 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "writing to standard output");
    log_info("results in %s: " TRIALS_HTML_NAME ", " TRIALS_TEXT_NAME ", " TRIALS_STATE_NAME,
             r->folder);
    return 0;
}

static int conclude(const struct trials_request *r, struct trials_run *run, struct error *err) {
    const int best = trials_state_best(r->state);
    if (print(r, err) != 0)
        return -1;
    if (best < 0)
        return error_set(err, EXIT_CODE_DATA, "all trials failed; the first: %s",
                         trials_why(r->state, 0));
    log_info("trial %d is best: %s %s/" TRIALS_RECIPE_NAME, best, r->program->use, r->folder);
    return r->then_best ? trials_run_best(run, (size_t)best, err) : 0;
}

int trials_lead(const struct trials_request *r, struct slots *slots, struct error *err) {
    const struct trials_plan *plan = r->state->plan;
    struct trials_run run = {.slots = slots,
                             .state = r->state,
                             .folder = r->folder,
                             .program = r->program,
                             .slice_count = slots->count / plan->ranks};
    if (run.slice_count < 1)
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s: \"ranks\" is %d, but the job has %d; start more, or ask for fewer",
                         r->file, plan->ranks, slots->count);
    run.slices = calloc((size_t)run.slice_count, sizeof(*run.slices));
    if (run.slices == NULL)
        return error_no_memory(err, "slices");
    log_info("%zu configurations, %d at a time on %d rank%s each", plan->count, run.slice_count,
             plan->ranks, STR_PLURAL(plan->ranks));
    int result = trials_run_all(&run, err);
    if (result == 0)
        result = conclude(r, &run, err);
    free(run.slices);
    return result;
}
