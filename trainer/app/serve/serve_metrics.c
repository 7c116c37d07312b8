#include "trainer/app/serve/serve_metrics.h"

#include <inttypes.h>

/* The last row counts all others. */
static const int STATUSES[SERVE_STATUSES] = {200, 400, 404, 405, 406, 411, 413, 415, 500, 503, 0};

static const double SECONDS[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                 0.25,  0.5,    1,     2.5,  5,     10,   60};
static const double PICTURES[] = {1, 2, 4, 8, 16, 32, 64};

enum {
    SECONDS_COUNT = sizeof(SECONDS) / sizeof(SECONDS[0]),
    PICTURES_COUNT = sizeof(PICTURES) / sizeof(PICTURES[0]),
};
_Static_assert((int)SECONDS_COUNT <= (int)SERVE_BOUNDS_MAX, "room for all bounds");

void serve_metrics_init(struct serve_metrics *metrics) {
    *metrics = (struct serve_metrics){0};
    (void)pthread_mutex_init(&metrics->lock, NULL);
}

void serve_metrics_done(struct serve_metrics *metrics) {
    (void)pthread_mutex_destroy(&metrics->lock);
}

static void put(struct serve_histogram *h, const double *bounds, int count, double value) {
    int at = 0;
    while (at < count && value > bounds[at])
        at++;
    h->counts[at]++;
    h->sum += value;
}

void serve_metrics_answer(struct serve_metrics *metrics, int status, double seconds) {
    int at = 0;
    while (STATUSES[at] != status && STATUSES[at] != 0)
        at++;
    (void)pthread_mutex_lock(&metrics->lock);
    metrics->statuses[at]++;
    put(&metrics->request_seconds, SECONDS, SECONDS_COUNT, seconds);
    (void)pthread_mutex_unlock(&metrics->lock);
}

void serve_metrics_batch(struct serve_metrics *metrics, int pictures, double seconds) {
    (void)pthread_mutex_lock(&metrics->lock);
    metrics->pictures += pictures;
    put(&metrics->batch_pictures, PICTURES, PICTURES_COUNT, pictures);
    put(&metrics->batch_seconds, SECONDS, SECONDS_COUNT, seconds);
    (void)pthread_mutex_unlock(&metrics->lock);
}

void serve_metrics_closed(struct serve_metrics *metrics) {
    (void)pthread_mutex_lock(&metrics->lock);
    metrics->closed++;
    (void)pthread_mutex_unlock(&metrics->lock);
}

static int head(struct buf *out, const char *name, const char *type, const char *help,
                struct error *err) {
    return buf_printf(out, err, "# HELP ringtrain_%s %s\n# TYPE ringtrain_%s %s\n", name, help,
                      name, type);
}

static int print_one(struct buf *out, const char *name, const char *type, const char *help,
                     int64_t value, struct error *err) {
    return head(out, name, type, help, err) != 0
               ? -1
               : buf_printf(out, err, "ringtrain_%s %" PRId64 "\n", name, value);
}

static int print_histogram(struct buf *out, const char *name, const char *help,
                           const struct serve_histogram *h, const double *bounds, int count,
                           struct error *err) {
    int64_t sum = 0;
    if (head(out, name, "histogram", help, err) != 0)
        return -1;
    for (int i = 0; i < count; i++) {
        sum += h->counts[i];
        if (buf_printf(out, err, "ringtrain_%s_bucket{le=\"%g\"} %" PRId64 "\n", name, bounds[i],
                       sum) != 0)
            return -1;
    }
    sum += h->counts[count];
    return buf_printf(out, err,
                      "ringtrain_%s_bucket{le=\"+Inf\"} %" PRId64
                      "\nringtrain_%s_sum %.9g\nringtrain_%s_count %" PRId64 "\n",
                      name, sum, name, h->sum, name, sum);
}

static int print_statuses(struct buf *out, const struct serve_metrics *m, struct error *err) {
    if (head(out, "requests_total", "counter", "Answers to requests for predictions, by status.",
             err) != 0)
        return -1;
    for (int i = 0; i < SERVE_STATUSES && m->statuses[i] >= 0; i++) {
        if (STATUSES[i] == 0)
            return buf_printf(out, err, "ringtrain_requests_total{code=\"other\"} %" PRId64 "\n",
                              m->statuses[i]);
        if (buf_printf(out, err, "ringtrain_requests_total{code=\"%d\"} %" PRId64 "\n", STATUSES[i],
                       m->statuses[i]) != 0)
            return -1;
    }
    return 0;
}

static int print_all(const struct serve_metrics *m, const struct serve_gauges *g, struct buf *out,
                     struct error *err) {
    if (print_statuses(out, m, err) != 0 ||
        print_histogram(out, "request_seconds", "Time from a request's headers to its answer.",
                        &m->request_seconds, SECONDS, SECONDS_COUNT, err) != 0 ||
        print_histogram(out, "batch_pictures", "Pictures of a computed batch.", &m->batch_pictures,
                        PICTURES, PICTURES_COUNT, err) != 0 ||
        print_histogram(out, "batch_seconds", "Time that the network computed a batch.",
                        &m->batch_seconds, SECONDS, SECONDS_COUNT, err) != 0 ||
        print_one(out, "pictures_total", "counter", "Pictures computed.", m->pictures, err) != 0)
        return -1;
    return print_one(out, "connections_closed_total", "counter",
                     "Connections closed as too slow, or as they sent too much.", m->closed,
                     err) != 0 ||
                   print_one(out, "queue_pictures", "gauge", "Pictures that wait.",
                             (int64_t)g->queued, err) != 0 ||
                   print_one(out, "queue_limit_pictures", "gauge", "Pictures that may wait.",
                             (int64_t)g->queue_limit, err) != 0 ||
                   print_one(out, "connections", "gauge", "Open connections.",
                             (int64_t)g->connections, err) != 0 ||
                   print_one(out, "body_bytes", "gauge", "Bytes of requests in memory.",
                             (int64_t)g->body_bytes, err) != 0
               ? -1
               : 0;
}

int serve_metrics_print(struct serve_metrics *metrics, const struct serve_gauges *gauges,
                        struct buf *out, struct error *err) {
    (void)pthread_mutex_lock(&metrics->lock);
    const struct serve_metrics copy = *metrics;
    (void)pthread_mutex_unlock(&metrics->lock);
    return print_all(&copy, gauges, out, err);
}
