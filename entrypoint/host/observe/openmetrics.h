/* Metrics of a host in the OpenMetrics text format.
 *
 * With RINGMASTER_METRICS, output/data/metrics-HOST.prom is rewritten at an interval and at the end
 * by the event log's child, for a file collector or a person. RINGMASTER_METRICS_PORT serves the
 * same over HTTP (host/metrics_exporter.h).
 *
 * A host knows the steps of its ranks and the newest values of rank 0's metric lines, which is
 * mostly on the first host. The first host also knows the hosts, the attempts and the age of each
 * host's last message. */
#ifndef ENTRYPOINT_HOST_OBSERVE_OPENMETRICS_H
#define ENTRYPOINT_HOST_OBSERVE_OPENMETRICS_H

#include "common/buf.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPENMETRICS_MAX = 64, GAUGE_NAME_SIZE = 64 };

struct gauge {
    char name[GAUGE_NAME_SIZE]; /* "train_loss" */
    double value;
};

/* Zeroed it is empty. */
struct openmetrics {
    struct gauge items[OPENMETRICS_MAX];
    size_t count;
};

/* Keeps the numbers of a program's line if it is a metric line (common/text/metric_line.h). Invalid
 * names and numbers, and what does not fit, are ignored. */
void openmetrics_line(struct openmetrics *g, const char *line, size_t size);

/* Appends one sample. LABELS is "" or the text between the braces; HELP may be NULL for a further
 * sample of the same NAME. */
int openmetrics_sample(struct buf *ret, const char *name, const char *help, const char *labels,
                       double value, struct error *err);
/* Appends all kept values, each as ringmaster_NAME. */
int openmetrics_print(const struct openmetrics *g, struct buf *ret, struct error *err);

#endif
