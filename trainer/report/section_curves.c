#include "common/str.h"
#include "trainer/report/line_chart.h"
#include "trainer/report/section.h"

#include <string.h>

/* How a number of run.jsonl is shown. */
struct known {
    const char *name;
    bool evaluated;
    const char *title, *unit;
    double scale;
    bool left_out;
};

/* In the order of the page; others come after these, under their names. */
static const struct known KNOWN[] = {
    {"loss", false, "Training loss", "", 1, false},
    {"loss", true, "Evaluation loss", "", 1, false},
    {"top1", true, "Top-1 accuracy", "%", 100, false},
    {"top1", false, "Top-1 accuracy on training batches", "%", 100, false},
    {"top5", true, "Top-5 accuracy", "%", 100, false},
    {"bbox_mAP", true, "Box mAP", "", 1, false},
    {"segm_mAP", true, "Mask mAP", "", 1, false},
    {"bbox_AP50", true, "Box AP at IoU 0.5", "", 1, false},
    {"segm_AP50", true, "Mask AP at IoU 0.5", "", 1, false},
    {"learning_rate", false, "Learning rate", "", 1, false},
    {"images_per_second", false, "Throughput", "images/s", 1, false},
    {"data_wait", false, "Time waiting for data", "%", 100, false},
    {"comm_wait", false, "Time waiting for other ranks", "%", 100, false},
    {"final_loss", false, "", "", 1, true},
    {"skipped", false, "Skipped steps", "steps", 1, true},
};

enum { KNOWN_COUNT = sizeof(KNOWN) / sizeof(KNOWN[0]) };

/* Top-5 of five classes is 100 %. */
static bool says_something(const struct run_folder *run, const struct known *how) {
    return strcmp(how->name, "top5") != 0 || !(section_number(run, "classes") <= 5);
}

static void put_chart(struct html *h, const struct page_runs *runs, const struct known *how) {
    struct chart_line lines[PAGE_RUNS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < runs->count; i++) {
        const struct history_curve *curve =
            run_history_curve(&runs->list[i]->history, how->name, how->evaluated);
        if (curve != NULL && curve->count > 0 && says_something(runs->list[i], how))
            lines[count++] = (struct chart_line){curve, runs->list[i]->name, i};
    }
    const struct line_chart chart = {how->title, how->unit, how->scale, lines, count};
    if (count > 0)
        line_chart_put(h, &chart);
}

static bool is_known(const struct history_curve *curve) {
    /* COCO's other numbers stand in the table by class and in run.jsonl. */
    if (curve->evaluated &&
        (str_starts_with(curve->name, "bbox_") || str_starts_with(curve->name, "segm_")))
        return true;
    for (size_t i = 0; i < KNOWN_COUNT; i++)
        if (KNOWN[i].evaluated == curve->evaluated && strcmp(KNOWN[i].name, curve->name) == 0)
            return true;
    return false;
}

/* Returns true if an earlier run has the curve, which is then drawn already. */
static bool is_drawn(const struct page_runs *runs, size_t run, const struct history_curve *curve) {
    for (size_t i = 0; i < run; i++)
        if (run_history_curve(&runs->list[i]->history, curve->name, curve->evaluated) != NULL)
            return true;
    return false;
}

void section_curves(struct html *h, const struct page_runs *runs) {
    size_t points = 0;
    for (size_t i = 0; i < runs->count; i++)
        for (size_t k = 0; k < runs->list[i]->history.curve_count; k++)
            points += runs->list[i]->history.curves[k].count;
    section_open(h, "Curves", points > 0 ? "" : "No step has been reported yet.");
    html_put(h, "<div class=grid>");
    for (size_t i = 0; i < KNOWN_COUNT; i++)
        if (!KNOWN[i].left_out)
            put_chart(h, runs, &KNOWN[i]);
    for (size_t i = 0; i < runs->count; i++)
        for (size_t k = 0; k < runs->list[i]->history.curve_count; k++) {
            const struct history_curve *curve = &runs->list[i]->history.curves[k];
            const struct known how = {curve->name, curve->evaluated, curve->name, "", 1, false};
            if (!is_known(curve) && !is_drawn(runs, i, curve))
                put_chart(h, runs, &how);
        }
    html_put(h, "</div></section>");
}
