#include "entrypoint/host/metrics_exporter.h"

#include "common/clock.h"
#include "common/log/log.h"
#include "entrypoint/wire/listener.h"

static int add_metrics(void *context, struct buf *text, struct error *err) {
    const struct metrics_exporter *m = context;
    if (openmetrics_sample(text, "ringmaster_attempt", "the attempt at the job, from 1", "",
                           m->services->event_log->attempt, err) != 0 ||
        rank_set_measure(m->o.rank_set, text, err) != 0 ||
        openmetrics_print(&m->services->event_log->gauges, text, err) != 0)
        return -1;
    if (m->over && openmetrics_sample(text, "ringmaster_exit_code", "that the job ended with", "",
                                      m->code, err) != 0)
        return -1;
    if (m->o.measure != NULL && m->o.measure(m->o.context, text, err) != 0)
        return -1;
    return buf_add_text(text, "# EOF\n", err);
}

/* Writes the file with the current values. */
static void write_file(struct metrics_exporter *m) {
    cleanup_buf struct buf text;
    buf_init(&text, HTTP_PAGE_TEXT_MAX); /* at most one line for each host and each rank */
    if (add_metrics(m, &text, NULL) == 0)
        event_log_put_metrics(m->services->event_log, &text);
}

static int64_t pause_of(const struct metrics_exporter *m) {
    return m->services->job->settings.metrics * CLOCK_SECOND;
}

/* The event log's process is not running between two attempts. */
static void look(void *context) {
    struct metrics_exporter *m = context;
    if (!m->services->sweep->running)
        write_file(m);
    loop_after(m->services->loop, &m->again, pause_of(m));
}

void metrics_exporter_begin(struct metrics_exporter *m, const struct services *services,
                            const struct metrics_exporter_options *options) {
    *m = (struct metrics_exporter){
        .services = services, .o = *options, .again = {.fire = look, .context = m}};
    if (pause_of(m) > 0)
        loop_after(m->services->loop, &m->again, pause_of(m));
}

int metrics_exporter_listen(struct metrics_exporter *m, struct error *err) {
    static const struct net_address everywhere;
    const struct http_page_options options = {
        .path = "/metrics",
        .type = "application/openmetrics-text; version=1.0.0; charset=utf-8",
        .write = add_metrics,
        .context = m};
    int64_t port = m->services->job->settings.metrics_port;
    if (port == 0)
        return 0;
    int listener =
        listener_listen(&everywhere, (uint16_t)port, "metrics (RINGMASTER_METRICS_PORT)", err);
    if (listener < 0 || http_page_open(&m->page, m->services->loop, listener, &options, err) != 0)
        return -1;
    log_info("serving GET /metrics on port %u", (unsigned)port);
    return 0;
}

void metrics_exporter_stop(struct metrics_exporter *m) {
    if (m->services != NULL)
        loop_cancel(m->services->loop, &m->again);
}

void metrics_exporter_conclude(struct metrics_exporter *m, int code) {
    m->over = true;
    m->code = code;
    metrics_exporter_stop(m);
    if (m->services != NULL && pause_of(m) > 0)
        write_file(m);
}

void metrics_exporter_close(struct metrics_exporter *m) {
    http_page_close(&m->page);
}
