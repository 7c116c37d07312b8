#include "common/trials/trials_run.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log/log.h"
#include "common/slots/slot_log.h"
#include "common/str.h"
#include "common/trials/trials_page.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Rank 0 drives this loop; the other ranks serve (slots_serve). Each turn gives trials to free
 * slices, meets all ranks in a round, and looks at every slice once: one that still runs is
 * watched, and one that has ended is collected and written down at once. So a killed job loses only
 * what was running.
 *
 * Halving decides during the run: trials_state_promote() opens a rung as soon as the one before is
 * complete. Until then slices may be idle. Starting likely winners early would use them, but
 * results would then depend on timing.
 *
 * A trial fails by itself only. What ends the loop is a stop, an error of this process, or the loss
 * of a rank of the job. */

/* Bytes of a log's last line that a reason quotes. */
enum { LAST_WORDS = 140 };

/* The folder is a function of the number, so that a run that continues finds the same one. */
static int folder_of(const struct trials_run *r, const struct trials_number *n, char ret[PATH_MAX],
                     struct error *err) {
    return snprintf(ret, PATH_MAX, "%s/trial-%zu/rung-%zu-seed-%zu", r->folder, n->config, n->rung,
                    n->seed) < PATH_MAX
               ? 0
               : error_set(err, EXIT_CODE_CONFIG, "%.64s...: path too long", r->folder);
}

/* Slices are of equal size and follow each other from slot 0 on; slots beyond the last one stay
 * idle. */
static int first_of(const struct trials_run *r, int slice) {
    return slice * r->state->plan->ranks;
}

/* The name has the time in it: a trial that is repeated in the same folder must not be taken for
 * the old one by programs that meet under it. */
static int start(struct trials_run *r, int slice, const struct trials_number *n,
                 struct error *err) {
    char folder[PATH_MAX], name[80];
    cleanup_argv struct argv argv = {0};
    const struct trials_plan *plan = r->state->plan;
    (void)snprintf(name, sizeof(name), "trial %zu %zu %zu %lld", n->config, n->rung, n->seed,
                   (long long)clock_now());
    if (folder_of(r, n, folder, err) != 0 ||
        r->program->trial(r->program->context, plan, n, folder, &argv, err) != 0)
        return -1;
    const struct slot_job job = {
        first_of(r, slice), plan->ranks, folder, name, (const char *const *)argv.items, NULL};
    r->slices[slice] = (struct trials_slice){.runs = true, .number = *n};
    return slots_start(r->slots, &job, err);
}

/* A trial that runs has no result yet and is therefore in the list of missing ones, which is made
 * anew in each turn. */
static bool is_running(const struct trials_run *r, const struct trials_number *n) {
    for (int i = 0; i < r->slice_count; i++) {
        const struct trials_slice *s = &r->slices[i];
        if (s->runs && s->number.rung == n->rung && s->number.config == n->config &&
            s->number.seed == n->seed)
            return true;
    }
    return false;
}

/* Gives the next trials to free slices. *RET_LEFT: at least one runs now. If none runs and none is
 * missing, the plan is done. */
static int start_some(struct trials_run *r, bool *ret_left, struct error *err) {
    /* Beyond those that run, as many as there are slices are enough. */
    const size_t room = 2 * (size_t)r->slice_count;
    cleanup_free struct trials_number *list = calloc(room, sizeof(*list));
    if (list == NULL)
        return error_no_memory(err, "trials");
    if (trials_state_promote(r->state, err) != 0)
        return -1;
    const size_t count = trials_state_missing(r->state, list, room);
    size_t next = 0;
    *ret_left = false;
    for (int i = 0; i < r->slice_count; i++) {
        while (!r->slices[i].runs && next < count && is_running(r, &list[next]))
            next++;
        if (!r->slices[i].runs && next < count && start(r, i, &list[next++], err) != 0)
            return -1;
        *ret_left = *ret_left || r->slices[i].runs;
    }
    return 0;
}

/* Ends a trial that is late, still, or has lost a rank. Its time and its output are those of the
 * slice's first rank. A reason that is set here stays the trial's, whatever its exit code says. The
 * order to end is given once, and takes effect in the next round. */
static int watch(struct trials_run *r, int slice, struct error *err) {
    struct trials_slice *t = &r->slices[slice];
    const struct trials_plan *plan = r->state->plan;
    const int first = first_of(r, slice);
    const struct slot_report *report = &r->slots->reports[first];
    bool failed = false;
    for (int i = first; i < first + plan->ranks; i++)
        failed =
            failed || (r->slots->reports[i].state == SLOT_ENDED && r->slots->reports[i].code != 0);
    if (!t->ending && report->seconds > plan->limit)
        (void)snprintf(t->why, sizeof(t->why), "not done after %.0f s (\"limit\")", plan->limit);
    else if (!t->ending && report->silent > plan->stall)
        (void)snprintf(t->why, sizeof(t->why), "no output for %.0f s (\"stall\")", plan->stall);
    if (t->ending || (t->why[0] == '\0' && !failed))
        return 0;
    t->ending = true;
    return slots_end(r->slots, first, plan->ranks, err);
}

/* Three ways to fail, the most certain first: ended by the watch, a code, or a metric that is no
 * number. WHY stays empty for a trial that is done. The last line of the log is quoted only with a
 * code, since it often has the program's own message. */
static void explain(const struct trials_run *r, int slice, struct trials_result *result) {
    const struct trials_slice *t = &r->slices[slice];
    const struct trials_plan *plan = r->state->plan;
    char words[LAST_WORDS] = "", folder[PATH_MAX];
    int rank = 0;
    result->code = slots_code(r->slots, first_of(r, slice), plan->ranks, &rank);
    if (t->why[0] != '\0') {
        (void)snprintf(result->why, sizeof(result->why), "%s", t->why);
    } else if (result->code != 0) {
        if (folder_of(r, &t->number, folder, NULL) == 0)
            slot_log_last(folder, rank, words, sizeof(words));
        (void)snprintf(result->why, sizeof(result->why), "rank %d ended with %d%s%s", rank,
                       result->code, words[0] != '\0' ? ": " : "", words);
    } else if (!isfinite(result->metric)) {
        (void)snprintf(result->why, sizeof(result->why), "%s is missing or not finite",
                       plan->metric);
    }
}

/* Values of the rung and the seed are named only where the plan has several. A failure is a
 * warning, because the plan continues without it. */
static void report(const struct trials_run *r, const struct trials_number *n,
                   const struct trials_result *result) {
    const struct trials_plan *plan = r->state->plan;
    char of[96] = "";
    size_t used = 0;
    if (plan->rung_count > 1)
        used += (size_t)snprintf(of, sizeof(of), ", %s %lld", plan->rung_flag,
                                 (long long)plan->rungs[n->rung]);
    if (plan->seed_count > 0)
        (void)snprintf(of + used, sizeof(of) - used, ", seed %lld",
                       (long long)plan->seeds[n->seed]);
    if (result->outcome == TRIALS_DONE)
        log_info("trial %zu%s: %s %.6g in %.1f s", n->config, of, plan->metric, result->metric,
                 result->seconds);
    else
        log_warning("trial %zu%s failed: %s", n->config, of, result->why);
}

/* Results are on disk before the slice is used again. The next rung is opened first, so that what
 * trials_write() shows is up to date. */
static int collect(struct trials_run *r, int slice, struct error *err) {
    struct trials_slice *t = &r->slices[slice];
    const struct slot_report *first = &r->slots->reports[first_of(r, slice)];
    struct trials_result *result =
        trials_state_at(r->state, t->number.rung, t->number.config, t->number.seed);
    *result = (struct trials_result){.metric = first->figures[TRIALS_METRIC],
                                     .rate = first->figures[TRIALS_RATE],
                                     .seconds = first->seconds};
    explain(r, slice, result);
    result->outcome = result->why[0] == '\0' ? TRIALS_DONE : TRIALS_FAILED;
    t->runs = false;
    report(r, &t->number, result);
    return trials_state_promote(r->state, err) != 0
               ? -1
               : trials_write(r->state, r->program->name, r->folder, err);
}

/* Trials that are under way get no result, and run again when the plan continues. All of them are
 * waited for, at most the grace of slots_end(), so that no process outlives the job. */
static int stop(struct trials_run *r, struct error *err) {
    const int all = r->slice_count * r->state->plan->ranks;
    if (slots_end(r->slots, 0, all, err) != 0)
        return -1;
    while (slots_running(r->slots, 0, all))
        if (slots_round(r->slots, err) != 0)
            return -1;
    return error_set(err, EXIT_CODE_STOPPED,
                     "stopped on request; run the same command again for the remaining trials");
}

/* The stop is checked twice: before anything starts, and after the round, in which trials may have
 * ended because the launcher's signal reached them, too. */
int trials_run_all(struct trials_run *r, struct error *err) {
    bool left = true;
    while (true) {
        if (slots_stopping(r->slots))
            return stop(r, err);
        if (start_some(r, &left, err) != 0)
            return -1;
        if (!left)
            return 0;
        if (slots_round(r->slots, err) != 0)
            return -1;
        for (int i = 0; i < r->slice_count; i++) {
            if (!r->slices[i].runs)
                continue;
            const bool runs = slots_running(r->slots, first_of(r, i), r->state->plan->ranks);
            /* What ended because of a stop is no result. */
            if (!runs && slots_stopping(r->slots))
                continue;
            if ((runs ? watch(r, i, err) : collect(r, i, err)) != 0)
                return -1;
        }
    }
}

/* One rank that fails ends all others, since they would wait for it. There is no limit of time
 * here: a whole training may take days. */
static int await_best(struct trials_run *r, struct error *err) {
    struct slots *s = r->slots;
    bool ending = false;
    while (slots_running(s, 0, s->count)) {
        if (slots_round(s, err) != 0)
            return -1;
        bool ends = slots_stopping(s);
        for (int i = 0; i < s->count; i++)
            ends = ends || (s->reports[i].state == SLOT_ENDED && s->reports[i].code != 0);
        if (ends && !ending && slots_end(s, 0, s->count, err) != 0)
            return -1;
        ending = ending || ends;
    }
    return 0;
}

/* The code of the program becomes that of the job. The last line of the log is shown in either
 * case: mostly it has the final figures. */
int trials_run_best(struct trials_run *r, size_t config, struct error *err) {
    struct slots *s = r->slots;
    char folder[PATH_MAX], words[LAST_WORDS] = "";
    cleanup_argv struct argv argv = {0};
    int rank = 0;
    if (snprintf(folder, sizeof(folder), "%s/best", r->folder) >= (int)sizeof(folder))
        return error_set(err, EXIT_CODE_CONFIG, "%.64s...: path too long", r->folder);
    if (r->program->best(r->program->context, r->state->plan, config, folder, &argv, err) != 0)
        return -1;
    log_info("trial %zu is best: running it on %d rank%s; its log is %s/rank-0.log", config,
             s->count, STR_PLURAL(s->count), folder);
    const struct slot_job job = {0,   s->count, folder, "best", (const char *const *)argv.items,
                                 NULL};
    if (slots_start(s, &job, err) != 0 || await_best(r, err) != 0)
        return -1;
    const int code = slots_code(s, 0, s->count, &rank);
    if (slots_stopping(s))
        return error_set(err, EXIT_CODE_STOPPED, "stopped on request");
    slot_log_last(folder, rank, words, sizeof(words));
    if (code != 0)
        return error_set(err, (enum exit_code)code,
                         "running the best configuration: rank %d ended with %d: %s", rank, code,
                         words);
    log_info("%s", words);
    return 0;
}
