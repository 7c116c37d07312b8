#include "entrypoint/host/observe/metric_matcher.h"

#include "common/cleanup.h"
#include "common/json/json.h"
#include "common/log/log.h"

void metric_matcher_open(struct metric_counts *c, const struct job *job) {
    struct warnings warnings = {0};
    *c = (struct metric_counts){0};
    if (job->metrics.count == 0 && !job->settings.events)
        return;
    metric_counts_open(c, &job->metrics, &warnings);
    for (size_t i = 0; i < warnings.count; i++)
        log_warning("%s", warnings.text[i]);
    if (warnings.dropped > 0)
        log_warning("%zu more such warnings", warnings.dropped);
}

static bool has(uint64_t bits, size_t i) {
    return (bits >> i & 1) != 0;
}

void metric_matcher_line(struct metric_counts *c, const char *line, size_t size,
                         void (*matched)(void *context, const char *name), void *context) {
    uint64_t left_out = 0;
    uint64_t fresh = metric_counts_line(c, line, size, &left_out);
    if (c->unread > 0 && c->asked && !c->unread_reported) {
        c->unread_reported = true;
        matched(context, "");
    }
    for (size_t i = 0; (fresh | left_out) != 0 && i < c->count; i++) {
        if (has(fresh | left_out, i) && c->asked)
            matched(context, c->items[i].name);
        if (has(left_out, i))
            log_warning("metric %s is not counted: its regular expression takes too long on a line",
                        c->items[i].name);
    }
}

void metric_matcher_receive(struct metric_counts *c, const json_t *message) {
    const char *name = "";
    if (json_member_string(message, "metric", "name", &name, NULL) != 0)
        return;
    c->unread_elsewhere |= name[0] == '\0';
    metric_counts_elsewhere(c, name);
}

/* Reports metrics that never matched, unless some lines were not read: a rare metric may have been
 * in one of them. */
static void say_never(const struct metric_counts *c, const char *names) {
    if (c->unread == 0 && !c->unread_elsewhere)
        log_warning("metric %s matched 0 times", names);
    else
        log_warning("metric %s matched 0 times; some lines were skipped for lack of time", names);
}

void metric_matcher_conclude(const struct metric_counts *c, struct event_log *event_log,
                             bool is_first_host) {
    cleanup_buf struct buf never;
    buf_init(&never, (size_t)METRIC_DEFINITIONS_MAX * METRIC_NAME_SIZE * 2);
    if (!metric_counts_any(c))
        return;
    json_t *members = metric_counts_json(c);
    (void)json_object_set_new(members, "never", json_null());
    if (c->asked && is_first_host && metric_counts_never(c, &never, NULL) == 0) {
        (void)json_object_set_new(members, "never", json_string(buf_text(&never)));
        if (never.size > 0)
            say_never(c, buf_text(&never));
    }
    event_log_put(event_log, EVENT_LOG_METRICS, members);
}
