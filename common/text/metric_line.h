/* Metric lines in the form that scrapers read.
 *
 * The trainer writes them, and the launcher prints their definitions; both take the form from here.
 *
 *     train step=20 epoch=1 loss=2.30259 top1=0.125 lr=0.1 images_per_second=812.5 ...
 *     eval epoch=1 top1=0.9125 top5=1 loss=0.31 images=400
 *     train step=20 epoch=1 loss=1.9 loss_classifier=0.6 loss_box_reg=0.3 ... lr=0.02 ...
 *     eval epoch=1 bbox_mAP=0.371 bbox_AP50=0.585 ... segm_mAP=0.341 ... images=5000
 *
 * Pairs key=value are separated by one blank, without tabs. Shares are fractions, not percent. */
#ifndef COMMON_TEXT_METRIC_LINE_H
#define COMMON_TEXT_METRIC_LINE_H

#include "common/buf.h"
#include "common/error.h"

#include <stddef.h>

struct metric_field {
    const char *name;
    double value;
};

/* A metric as a column of a table for people. A list ends with a NULL name. */
struct metric_column {
    const char *name;    /* of the metric */
    const char *heading; /* at most 10 characters */
    double scale;        /* the value is multiplied by this */
    int decimals;
};

/* Maximum number of definitions that CreateTrainingJob accepts. */
enum { METRIC_DEFINITIONS_MAX = 40 };

/* One entry of CreateTrainingJob's AlgorithmSpecification.MetricDefinitions. */
struct metric_definition {
    const char *name;  /* train:loss */
    const char *regex; /* has one group and matches the lines above */
};

/* Appends "KIND k=v k=v" without a newline. Whole values are written without a decimal point,
 * others with six significant digits; values that are not finite as nan, inf or -inf. */
int metric_line_format(struct buf *out, const char *kind, const struct metric_field *fields,
                       size_t count, struct error *err);

const struct metric_definition *metric_line_definitions(size_t *ret_count);

#endif
