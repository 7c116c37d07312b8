/* Charts of a scaling study over the number of ranks.
 *
 * They are inline SVG: throughput, on two logarithmic axes, and efficiency. */
#ifndef COMMON_SCALING_SCALING_CHART_H
#define COMMON_SCALING_SCALING_CHART_H

#include "common/html/html.h"
#include "common/scaling/scaling_page.h"

/* S and the studies after it. Nothing is drawn where nothing was measured. */
void scaling_chart_rate(struct html *h, const struct scaling_study *s);
void scaling_chart_efficiency(struct html *h, const struct scaling_study *s);

#endif
