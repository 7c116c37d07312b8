#include "common/exit_code.h"
#include "trainer/report/section.h"

#include <math.h>
#include <string.h>

/* One run is shown with sentences and large numbers, several as a table with a row for each;
 * failures and unreadable lines follow in both cases. All numbers come from the run's history
 * (run_history.h), and a number that is not known is shown as a dash by html_put_number.
 *
 * The result by which runs are judged is one for the whole page, so that a table never compares
 * different metrics: the first of RESULTS that any run has.
 *
 * Names and texts of a run come from its files and are written by html_text, which escapes them.
 * Tags and titles in this file are constant. */

/* Numbers of evaluations that say how good a model is, the first known one first. */
static const struct {
    const char *name, *title; /* in run.jsonl, and on the page */
    double scale;             /* from the file's number to the page's */
    const char *unit;         /* after the number */
    bool low;                 /* the lowest is the best */
} RESULTS[] = {
    {"segm_mAP", "Best mask mAP", 1, "", false},
    {"bbox_mAP", "Best box mAP", 1, "", false},
    {"top1", "Best top-1 accuracy", 100, " %", false},
    {"loss", "Lowest evaluation loss", 1, "", true},
};

enum { RESULT_COUNT = sizeof(RESULTS) / sizeof(RESULTS[0]) };

/* The last process of the run that is shown: one after it that took no step is left out. Returns
 * NULL if the history has no process at all. */
static const struct history_attempt *last_attempt(const struct run_folder *run) {
    const struct run_history *h = &run->history;
    size_t count = h->attempt_count;
    /* h->next is set only if the last process has not begun to train and one before it has. */
    while (h->next != NULL && count > 1 && !h->attempts[count - 1].started)
        count--;
    return count > 0 ? &h->attempts[count - 1] : NULL;
}

/* Shows how the last process ended. Without an end in the file it is not known whether it still
 * runs, and the title says so. */
static void put_state(struct html *h, const struct run_folder *run) {
    const struct history_attempt *a = last_attempt(run);
    if (a == NULL)
        html_put(h, "<span class=\"state wait\">no run yet</span>");
    else if (!a->ended)
        html_put(h, "<span class=\"state wait\" title=\"no end is recorded: it runs, or was "
                    "killed\">running or killed</span>");
    else if (a->code == EXIT_CODE_OK)
        html_put(h, "<span class=\"state good\">complete</span>");
    else if (a->code == EXIT_CODE_STOPPED)
        html_put(h, "<span class=\"state wait\">stopped on request</span>");
    else
        html_put(h, "<span class=\"state bad\">failed, exit code %.0f</span>", a->code);
}

/* Finds the best value of the result that all runs of a page are judged by. Returns false if the
 * run has no finite value of it. The first of equal values counts. */
static bool best_of(const struct run_folder *run, size_t result, struct history_point *ret) {
    const struct history_curve *c = run_history_curve(&run->history, RESULTS[result].name, true);
    bool found = false;
    for (size_t k = 0; c != NULL && k < c->count; k++) {
        const double value = c->points[k].value;
        if (!isfinite(value))
            continue;
        if (!found || (RESULTS[result].low ? value < ret->value : value > ret->value))
            *ret = c->points[k];
        found = true;
    }
    return found;
}

/* Returns an index of RESULTS; the last one if no run has been evaluated. */
static size_t result_of(const struct page_runs *runs) {
    struct history_point best;
    for (size_t r = 0; r < RESULT_COUNT; r++)
        for (size_t i = 0; i < runs->count; i++)
            if (best_of(runs->list[i], r, &best))
                return r;
    return RESULT_COUNT - 1;
}

/* Mean throughput over all steps: a row stands for those since the row before. Throughputs are
 * averaged over the time that steps took: their harmonic mean, weighted by steps. NaN if nothing is
 * known. */
static double throughput_of(const struct run_folder *run) {
    const struct history_curve *c = run_history_curve(&run->history, "images_per_second", false);
    double slowness = 0, steps = 0, before = 0;
    for (size_t k = 0; c != NULL && k < c->count; k++) {
        /* A row without a throughput counts for nothing, but the steps of the next begin at it. */
        const double own = c->points[k].step - before;
        before = c->points[k].step;
        if (c->points[k].value > 0 && own > 0) {
            slowness += own / c->points[k].value;
            steps += own;
        }
    }
    return slowness > 0 ? steps / slowness : (double)NAN;
}

/* NaN before the first step. */
static double last_step(const struct run_folder *run) {
    const struct history_attempt *a = last_attempt(run);
    return a != NULL && a->started ? a->to : (double)NAN;
}

/* Opens a tile; its number and "</b></div>" follow. */
static void put_tile(struct html *h, const char *title) {
    html_put(h, "<div class=tile><span>%s</span><b>", title);
}

/* Shows the best value, and with WHERE the step at which it was reached. */
static void put_best(struct html *h, const struct run_folder *run, size_t result, bool where) {
    struct history_point best = {0};
    if (!best_of(run, result, &best)) {
        html_put(h, "–"); /* as html_put_number writes what is unknown */
        return;
    }
    html_put_number(h, best.value * RESULTS[result].scale);
    html_put(h, "%s", RESULTS[result].unit);
    /* The number is bold: the tag is closed for the step, and opened again for the caller. */
    if (where) {
        html_put(h, "</b> <small>at step ");
        html_put_number(h, best.step);
        html_put(h, "</small><b>");
    }
}

/* The goal is the setting of the last process that trained, which may differ from an earlier one.
 */
static void put_steps(struct html *h, const struct run_folder *run) {
    html_put_number(h, last_step(run));
    html_put(h, " <small>of ");
    html_put_number(h, section_number(run, "total_steps"));
    html_put(h, "</small>");
}

/* The large numbers of a single run. The time is that of all its processes together. */
static void put_tiles(struct html *h, const struct run_folder *run, size_t result) {
    html_put(h, "<div class=tiles>");
    put_tile(h, RESULTS[result].title);
    put_best(h, run, result, true);
    html_put(h, "</b></div>");
    put_tile(h, "Steps");
    put_steps(h, run);
    html_put(h, "</b></div>");
    put_tile(h, "Throughput");
    html_put_number(h, throughput_of(run));
    html_put(h, " <small>images/s</small></b></div>");
    put_tile(h, "Time");
    html_put_duration(h, run_history_seconds(&run->history, HISTORY_ALL));
    html_put(h, "</b></div>");
    put_tile(h, "Ranks");
    html_put_number(h, section_number(run, "ranks"));
    html_put(h, " <small>");
    html_put_number(h, section_number(run, "global_batch"));
    html_put(h, " images a step</small></b></div></div>");
}

/* Sentences on a single run: state, network, data, program, and when it ran. */
static void put_words(struct html *h, const struct run_folder *run) {
    html_put(h, "<p class=words>");
    put_state(h, run);
    html_put(h, " <b>");
    html_text(h, section_text(run, "model"));
    html_put(h, "</b> on ");
    html_text(h, section_text(run, "data"));
    html_put(h, ": ");
    html_put_number(h, section_number(run, "images"));
    html_put(h, " training images, ");
    html_put_number(h, section_number(run, "validation_images"));
    html_put(h, " to evaluate on, ");
    html_put_number(h, section_number(run, "classes"));
    html_put(h, " classes.<br>");
    html_text(h, section_text(run, "program"));
    html_put(h, "; ");
    html_text(h, section_text(run, "backend"));
    /* From the first line of the file to the last line of the process that is shown. */
    const struct history_attempt *a = last_attempt(run);
    if (a != NULL) {
        html_put(h, "<br>from ");
        section_time(h, run->history.attempts[0].begun);
        html_put(h, " to ");
        section_time(h, a->last);
        html_put(h, " UTC");
    }
    html_put(h, "</p>");
}

/* Why a run has failed, as its log has it, and what a process after it did that took no step.
 * Nothing if neither is the case. */
static void put_failure(struct html *h, const struct page_runs *runs, size_t i) {
    const struct run_history *of = &runs->list[i]->history;
    /* The failure is the last process's; a new process clears it (run_history.c). */
    const char *why = json_string_value(json_object_get(of->failure, "error"));
    if (why == NULL && of->next == NULL)
        return;
    html_put(h, why != NULL ? "<p class=\"words bad\">" : "<p class=words>");
    if (runs->count > 1) {
        section_run_name(h, runs, i);
        html_put(h, ": ");
    }
    if (of->next != NULL) {
        html_put(h, "a later process, begun ");
        section_time(h, of->attempts[of->attempt_count - 1].begun);
        html_put(h, " UTC, has taken no step, and the run before it is shown%s",
                 why != NULL ? ". It failed: " : "");
    }
    html_text(h, why != NULL ? why : "");
    html_put(h, "</p>");
}

/* One row for each run, in the order of the page, with the colours of its curves. */
static void put_table(struct html *h, const struct page_runs *runs, size_t result) {
    html_put(h,
             "<div class=scroll><table><thead><tr><th>Run<th>State<th>Model<th class=n>%s"
             "<th class=n>Steps<th class=n>Images/s<th class=n>Time<th class=n>Ranks</tr></thead>"
             "<tbody>",
             RESULTS[result].title);
    for (size_t i = 0; i < runs->count; i++) {
        const struct run_folder *run = runs->list[i];
        html_put(h, "<tr><td class=name>");
        section_run_name(h, runs, i);
        html_put(h, "<td>");
        put_state(h, run);
        html_put(h, "<td>");
        html_text(h, section_text(run, "model"));
        html_put(h, "<td class=n>");
        put_best(h, run, result, false);
        html_put(h, "<td class=n>");
        html_put_number(h, last_step(run));
        html_put(h, "<td class=n>");
        html_put_number(h, throughput_of(run));
        html_put(h, "<td class=n>");
        html_put_duration(h, run_history_seconds(&run->history, HISTORY_ALL));
        html_put(h, "<td class=n>");
        html_put_number(h, section_number(run, "ranks"));
        html_put(h, "</tr>");
    }
    html_put(h, "</tbody></table></div>");
}

/* The section has no heading of its own: it is the first on the page. */
void section_summary(struct html *h, const struct page_runs *runs) {
    const size_t result = result_of(runs);
    html_put(h, "<section>");
    if (runs->count == 1) {
        put_words(h, runs->list[0]);
        put_failure(h, runs, 0);
        put_tiles(h, runs->list[0], result);
    } else {
        put_table(h, runs, result);
        for (size_t i = 0; i < runs->count; i++)
            put_failure(h, runs, i);
    }
    for (size_t i = 0; i < runs->count; i++) {
        const struct run_history *of = &runs->list[i]->history;
        if (of->bad == 0)
            continue;
        html_put(h, "<p class=note>");
        section_run_name(h, runs, i);
        html_put(h, ": %zu of %zu lines of run.jsonl cannot be read and are left out</p>", of->bad,
                 of->lines);
    }
    html_put(h, "</section>");
}
