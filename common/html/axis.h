/* Axis of a chart: round bounds and ticks around data. */
#ifndef COMMON_HTML_AXIS_H
#define COMMON_HTML_AXIS_H

#include <stddef.h>

enum { AXIS_LABEL_SIZE = 24, AXIS_TICKS_MAX = 12 };

struct chart_axis {
    double low, high; /* multiples of STEP; low < high */
    double step;      /* between two ticks */
    int ticks;        /* 2 .. AXIS_TICKS_MAX */
};

/* Fits an axis of about TICKS ticks around LOW .. HIGH, both finite. */
struct chart_axis axis_fit(double low, double high, int ticks);
double axis_tick(const struct chart_axis *axis, int tick);
/* The share of the axis below VALUE, 0 .. 1. */
double axis_share(const struct chart_axis *axis, double value);
/* Writes the label of a tick: 0.05, 250, 1.5k, 20M. */
void axis_label(const struct chart_axis *axis, int tick, char ret[AXIS_LABEL_SIZE]);

#endif
