#include "trainer/eval/coco_report.h"

#include "common/json/json_text.h"
#include "common/str.h"
#include "trainer/eval/coco_rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_WIDTH_MAX = 40, TABLE_COLUMNS = 6 };

void coco_report_done(struct coco_report *report) {
    free(report->by_category);
    *report = (struct coco_report){0};
}

int coco_report_make(struct coco_report *ret, const char *kind, const struct coco_curves *curves,
                     const struct coco_report_category *categories, struct error *err) {
    cleanup_coco_report struct coco_report report = {
        .kind = kind, .categories = categories, .category_count = curves->category_count};
    report.by_category = calloc(curves->category_count + 1, sizeof(*report.by_category));
    if (report.by_category == NULL)
        return error_no_memory(err, "a report by category");
    if (coco_stats(curves, report.stats, err) != 0)
        return -1;
    for (size_t c = 0; c < curves->category_count; c++)
        if (coco_stats_category(curves, c, report.by_category[c], err) != 0)
            return -1;
    *ret = report;
    report = (struct coco_report){0};
    return 0;
}

int coco_report_lines(const struct coco_report *report, struct buf *out, struct error *err) {
    for (size_t i = 0; i < COCO_STATS; i++) {
        const struct coco_stat *row = &COCO_STAT_ROWS[i];
        char overlap[16];
        if (row->threshold < 0)
            snprintf(overlap, sizeof(overlap), "%.2f:%.2f", coco_threshold(0),
                     coco_threshold(COCO_THRESHOLDS - 1));
        else
            snprintf(overlap, sizeof(overlap), "%.2f", coco_threshold((size_t)row->threshold));
        if (buf_printf(out, err, " %-18s %s @[ IoU=%-9s | area=%6s | maxDets=%3zu ] = %.3f\n",
                       row->precision ? "Average Precision" : "Average Recall",
                       row->precision ? "(AP)" : "(AR)", overlap, coco_area_name(row->area),
                       coco_limit(row->limit), report->stats[i]) != 0)
            return -1;
    }
    return 0;
}

/* Returns the characters of UTF-8 text: all bytes but continuation bytes. */
static int width_of(const char *text) {
    int width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static int table_row(const struct coco_report *report, size_t category, int width, struct buf *out,
                     struct error *err) {
    const struct coco_report_category *row = &report->categories[category];
    cleanup_buf struct buf name = {.max = 3 * strlen(row->name) + 1};
    if (str_add_utf8(&name, row->name, strlen(row->name), err) != 0)
        return -1;
    const char *text = buf_text(&name);
    int left = width - width_of(text);
    if (buf_printf(out, err, " %s%*s %8zu", text, left > 0 ? left : 0, "", row->objects) != 0)
        return -1;
    for (size_t i = 0; i < TABLE_COLUMNS; i++) {
        double value = report->by_category[category][i];
        int failed =
            value < 0 ? buf_add_text(out, "      -", err) : buf_printf(out, err, "  %.3f", value);
        if (failed != 0)
            return -1;
    }
    return buf_add_text(out, "\n", err);
}

int coco_report_table(const struct coco_report *report, struct buf *out, struct error *err) {
    int width = (int)strlen("category");
    for (size_t c = 0; c < report->category_count; c++) {
        int wide = width_of(report->categories[c].name);
        width = wide > width && wide <= NAME_WIDTH_MAX ? wide : width;
    }
    if (buf_printf(out, err, " %-*s  objects     AP   AP50   AP75    APs    APm    APl\n", width,
                   "category") != 0)
        return -1;
    for (size_t c = 0; c < report->category_count; c++)
        if (table_row(report, c, width, out, err) != 0)
            return -1;
    return 0;
}

static int add_stats(const double stats[COCO_STATS], struct buf *out, struct error *err) {
    for (size_t i = 0; i < COCO_STATS; i++)
        if (buf_printf(out, err, "%s%.17g", i == 0 ? "[" : ", ", stats[i]) != 0)
            return -1;
    return buf_add_text(out, "]", err);
}

static bool name_is_shared(const struct coco_report *report, size_t category) {
    for (size_t c = 0; c < report->category_count; c++)
        if (c != category &&
            strcmp(report->categories[c].name, report->categories[category].name) == 0)
            return true;
    return false;
}

static int add_category(const struct coco_report *report, size_t category, struct buf *out,
                        struct error *err) {
    const struct coco_report_category *row = &report->categories[category];
    cleanup_buf struct buf name = {.max = strlen(row->name) + 32};
    if (buf_add_text(&name, row->name, err) != 0)
        return -1;
    if (name_is_shared(report, category) && buf_printf(&name, err, " (%" PRId64 ")", row->id) != 0)
        return -1;
    if (buf_add_text(out, category == 0 ? "\n    " : ",\n    ", err) != 0 ||
        json_text_quote(out, buf_text(&name), name.size, err) != 0 ||
        buf_printf(out, err, ": {\"id\": %" PRId64 ", \"objects\": %zu, \"stats\": ", row->id,
                   row->objects) != 0 ||
        add_stats(report->by_category[category], out, err) != 0)
        return -1;
    return buf_add_text(out, "}", err);
}

int coco_report_json(const struct coco_report *report, struct buf *out, struct error *err) {
    if (buf_add_text(out, "{\"stats\": ", err) != 0 || add_stats(report->stats, out, err) != 0 ||
        buf_add_text(out, ",\n  \"per_category\": {", err) != 0)
        return -1;
    for (size_t c = 0; c < report->category_count; c++)
        if (add_category(report, c, out, err) != 0)
            return -1;
    return buf_add_text(out, "}}", err);
}
