/* Counters of a server, as text for Prometheus (exposition format 0.0.4). Any thread may count. */
#ifndef TRAINER_APP_SERVE_SERVE_METRICS_H
#define TRAINER_APP_SERVE_SERVE_METRICS_H

#include "common/buf.h"
#include "common/error.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { SERVE_STATUSES = 12, SERVE_BOUNDS_MAX = 14 };

/* Distribution of a value: counts of those up to each bound, and above the last. */
struct serve_histogram {
    int64_t counts[SERVE_BOUNDS_MAX + 1];
    double sum;
};

struct serve_metrics {
    pthread_mutex_t lock;
    int64_t statuses[SERVE_STATUSES];
    int64_t pictures, closed;
    struct serve_histogram request_seconds, batch_pictures, batch_seconds;
};

/* Values that others keep, at the moment of the report. */
struct serve_gauges {
    size_t queued, queue_limit; /* pictures */
    size_t connections;
    size_t body_bytes; /* of requests in memory */
};

void serve_metrics_init(struct serve_metrics *metrics);
void serve_metrics_done(struct serve_metrics *metrics);

/* An answer to a request for predictions, after so many seconds. */
void serve_metrics_answer(struct serve_metrics *metrics, int status, double seconds);
/* A batch of PICTURES was computed. */
void serve_metrics_batch(struct serve_metrics *metrics, int pictures, double seconds);
/* A connection was closed because it was too slow or sent too much. */
void serve_metrics_closed(struct serve_metrics *metrics);

int serve_metrics_print(struct serve_metrics *metrics, const struct serve_gauges *gauges,
                        struct buf *out, struct error *err);

#endif
