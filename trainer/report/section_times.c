#include "trainer/report/section.h"

#include <math.h>

enum { WIDTH = 1000 };

/* Parts of the time, in the order of the bar. */
enum share { COMPUTE, DATA, RANKS, EVALUATION, CHECKPOINTS, REST, SHARES };

static const char *const NAMES[SHARES] = {
    "computation", "waiting for data", "waiting for other ranks",
    "evaluation",  "checkpoints",      "set-up and the rest",
};

static double positive(double value) {
    return value > 0 ? value : 0;
}

/* Divides a run's time. Returns the whole. */
static double divide(const struct run_history *h, double ret[SHARES]) {
    const double training = run_history_seconds(h, HISTORY_TRAINING);
    ret[DATA] = run_history_seconds(h, HISTORY_DATA);
    ret[RANKS] = run_history_seconds(h, HISTORY_RANKS);
    ret[EVALUATION] = run_history_seconds(h, HISTORY_EVALUATION);
    ret[CHECKPOINTS] = run_history_seconds(h, HISTORY_CHECKPOINTS);
    ret[COMPUTE] = positive(training - ret[DATA] - ret[RANKS]);
    ret[REST] = positive(run_history_seconds(h, HISTORY_ALL) - training - ret[EVALUATION] -
                         ret[CHECKPOINTS]);
    double sum = 0;
    for (int i = 0; i < SHARES; i++)
        sum += ret[i];
    return sum;
}

static void put_bar(struct html *h, const double parts[SHARES], double sum) {
    double x = 0;
    html_put(h,
             "<svg class=stack viewBox=\"0 0 %d 28\" preserveAspectRatio=none role=img "
             "aria-label=\"time by part\">",
             WIDTH);
    for (int i = 0; i < SHARES; i++) {
        const double width = sum > 0 ? parts[i] / sum * WIDTH : 0;
        if (width > 0) {
            html_put(h, "<rect class=t%d x=%.2f width=%.2f height=28><title>%s: ", i, x, width,
                     NAMES[i]);
            html_put_duration(h, parts[i]);
            html_put(h, " (%.1f %%)</title></rect>", 100 * parts[i] / sum);
        }
        x += width;
    }
    html_put(h, "</svg>");
}

static void put_legend(struct html *h, const double parts[SHARES], double sum) {
    html_put(h, "<ul class=legend>");
    for (int i = 0; i < SHARES; i++) {
        if (!(parts[i] > 0))
            continue;
        html_put(h, "<li><i class=\"key t%d\"></i>%s <b>%.1f %%</b> <span>", i, NAMES[i],
                 100 * parts[i] / sum);
        html_put_duration(h, parts[i]);
        html_put(h, "</span>");
    }
    html_put(h, "</ul>");
}

/* Returns 1 if some attempt could not tell how long it waited for other ranks. */
static int hides_ranks(const struct run_history *h) {
    for (size_t i = 0; i < h->attempt_count; i++)
        if (isfinite(h->attempts[i].parts[HISTORY_TRAINING]) &&
            isnan(h->attempts[i].parts[HISTORY_RANKS]))
            return 1;
    return 0;
}

void section_times(struct html *h, const struct page_runs *runs) {
    section_open(h, "Where the time went", "The first rank's time, over all attempts.");
    for (size_t i = 0; i < runs->count; i++) {
        double parts[SHARES];
        const double sum = divide(&runs->list[i]->history, parts);
        if (runs->count > 1) {
            html_put(h, "<h3>");
            section_run_name(h, runs, i);
            html_put(h, "</h3>");
        }
        if (!(sum > 0)) {
            html_put(h, "<p class=note>run.jsonl has no times</p>");
            continue;
        }
        put_bar(h, parts, sum);
        put_legend(h, parts, sum);
        if (hides_ranks(&runs->list[i]->history))
            html_put(h, "<p class=note>A GPU waits for other ranks by itself: that time is part "
                        "of computation.</p>");
    }
    html_put(h, "</section>");
}
