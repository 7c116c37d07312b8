/* Line chart as inline SVG: a few curves over steps, axes with ticks, and the numbers of points as
 * titles, which browsers show under the pointer. */
#ifndef TRAINER_REPORT_LINE_CHART_H
#define TRAINER_REPORT_LINE_CHART_H

#include "common/html/html.h"
#include "trainer/report/run_history.h"

#include <stddef.h>

struct chart_line {
    const struct history_curve *curve; /* borrowed */
    const char *name;                  /* of the run; from outside */
    size_t color;
};

struct line_chart {
    const char *title, *unit; /* UNIT "": none */
    double scale;             /* values are multiplied by it */
    const struct chart_line *lines;
    size_t count;
};

/* Appends the chart as a card; nothing if no curve has a finite value. */
void line_chart_put(struct html *h, const struct line_chart *chart);

#endif
