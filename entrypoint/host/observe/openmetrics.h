/* Numbers for monitoring, in OpenMetrics' text form, where RINGMASTER_METRICS asks for them: every
 * so many seconds, and at the end, output/data/metrics-HOST.prom is written anew by the journal's
 * child, as a whole, for a collector of text files or who reads it. With RINGMASTER_METRICS_PORT
 * they are answered over HTTP, too (host/metrics_exporter.h).
 *
 * What a host knows: its ranks' steps, the newest values of the metric lines that rank 0 prints,
 * which is mostly the first host; and what that one knows of all: hosts, attempts, how old their
 * last words are. */
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

/* A program's line: where it is a metric line (common/metric_line.h) its numbers are kept. What is
 * no name or number is left out, and so is what has no room. */
void openmetrics_line(struct openmetrics *g, const char *line, size_t size);

/* Appends one sample. LABELS is "" or as it stands between braces; HELP may be NULL for a further
 * sample of the same NAME. */
int openmetrics_sample(struct buf *ret, const char *name, const char *help, const char *labels,
                       double value, struct error *err);
/* Appends all that was kept, each as ringmaster_NAME. */
int openmetrics_print(const struct openmetrics *g, struct buf *ret, struct error *err);

#endif
