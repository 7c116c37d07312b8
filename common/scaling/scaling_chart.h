/* Charts of a scaling study over the number of ranks, as inline SVG: throughput, on two
 * logarithmic axes, and efficiency. */
#ifndef COMMON_SCALING_SCALING_CHART_H
#define COMMON_SCALING_SCALING_CHART_H

#include "common/html/html.h"
#include "common/scaling/scaling_page.h"

#include <stddef.h>

void scaling_chart_rate(struct html *h, const struct scaling_study *s,
                        const struct scaling_row *rows, size_t count);
void scaling_chart_efficiency(struct html *h, const struct scaling_row *rows, size_t count);

#endif
