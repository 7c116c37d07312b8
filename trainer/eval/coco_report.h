/* Report of an evaluation: COCO's well-known twelve lines, a table by category, and JSON. Numbers
 * in JSON have 17 digits, which restore every bit. */
#ifndef TRAINER_EVAL_COCO_REPORT_H
#define TRAINER_EVAL_COCO_REPORT_H

#include "common/buf.h"
#include "common/error.h"
#include "trainer/eval/coco_eval.h"
#include "trainer/eval/coco_stats.h"

#include <stddef.h>
#include <stdint.h>

struct coco_report_category {
    const char *name;
    int64_t id;
    size_t objects; /* ground truth objects without crowds */
};

struct coco_report {
    const char *kind; /* "bbox" or "segm" */
    double stats[COCO_STATS];
    double (*by_category)[COCO_STATS];             /* owned */
    const struct coco_report_category *categories; /* borrowed */
    size_t category_count;
};

void coco_report_done(struct coco_report *report);

/* Computes the means; CATEGORIES has as many rows as CURVES has categories. */
int coco_report_make(struct coco_report *ret, const char *kind, const struct coco_curves *curves,
                     const struct coco_report_category *categories, struct error *err);

int coco_report_lines(const struct coco_report *report, struct buf *out, struct error *err);
int coco_report_table(const struct coco_report *report, struct buf *out, struct error *err);

/* Appends {"stats": [12 numbers], "per_category": {NAME: {"id":, "objects":, "stats": [12
 * numbers]}}}. If two categories have the same name, the id follows it, "NAME (ID)". */
int coco_report_json(const struct coco_report *report, struct buf *out, struct error *err);

#define cleanup_coco_report __attribute__((cleanup(coco_report_done)))

#endif
