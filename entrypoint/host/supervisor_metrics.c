#include "host/supervisor_metrics.h"

#include "common/clock.h"
#include "common/log.h"
#include "wire/door.h"

static int add_metrics(void *context, struct buf *text, struct error *err) {
    const struct supervisor *s = context;
    if (gauges_sample(text, "ringmaster_attempt", "the attempt at the job, from 1", "",
                      s->journal.attempt, err) != 0 ||
        crew_measure(&s->host.crew, text, err) != 0 ||
        gauges_print(&s->journal.gauges, text, err) != 0)
        return -1;
    if (s->judged && gauges_sample(text, "ringmaster_exit_code", "that the job ended with", "",
                                   s->verdict.code, err) != 0)
        return -1;
    if (s->role->measure != NULL && s->role->measure(s->state, text, err) != 0)
        return -1;
    return buf_add_text(text, "# EOF\n", err);
}

void supervisor_metrics_write(struct supervisor *s) {
    cleanup_buf struct buf text;
    buf_init(&text, PAGE_TEXT_MAX); /* a line a host and a line a rank at most */
    if (add_metrics(s, &text, NULL) == 0)
        journal_put_metrics(&s->journal, &text);
}

/* Between two attempts the journal's child rests. */
static void measure(void *context) {
    struct supervisor *s = context;
    if (!s->sweep.running)
        supervisor_metrics_write(s);
    loop_after(&s->loop, &s->measure, s->job->settings.metrics * CLOCK_SECOND);
}

void supervisor_metrics_begin(struct supervisor *s) {
    s->measure = (struct timer){.fire = measure, .context = s};
    if (s->job->settings.metrics > 0)
        loop_after(&s->loop, &s->measure, s->job->settings.metrics * CLOCK_SECOND);
}

int supervisor_metrics_listen(struct supervisor *s, struct error *err) {
    static const struct net_address everywhere;
    const struct page_options options = {
        .path = "/metrics",
        .type = "application/openmetrics-text; version=1.0.0; charset=utf-8",
        .write = add_metrics,
        .context = s};
    int64_t port = s->job->settings.metrics_port;
    if (port == 0 || s->check)
        return 0;
    int listener =
        door_listen(&everywhere, (uint16_t)port, "metrics (RINGMASTER_METRICS_PORT)", err);
    if (listener < 0 || page_open(&s->page, &s->loop, listener, &options, err) != 0)
        return -1;
    log_info("GET /metrics is answered on port %u", (unsigned)port);
    return 0;
}
