#include "entrypoint/master/accounting.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "entrypoint/host/observe/openmetrics.h"
#include "entrypoint/host/ranks/rank_saves.h"

void accounting_started(struct master *m) {
    goodput_started(&m->goodput, clock_boot());
}

void accounting_receive(struct member *b, const json_t *alive) {
    struct master *m = b->master;
    const json_t *saved = json_object_get(alive, "saved");
    const json_int_t ago = json_integer_value(json_array_get(saved, 0));
    const json_int_t pause = json_integer_value(json_array_get(saved, 1));
    if (m->phase != PHASE_RUNNING || json_array_size(saved) != 2 || ago < 0 || pause < 0 ||
        ago > clock_boot() ||
        json_integer_value(json_object_get(alive, "attempt")) != m->attempt.number)
        return;
    goodput_saved(&m->goodput, clock_boot() - ago, pause);
}

/* This host has no heartbeat. */
static void read_own(struct master *m) {
    int64_t pause = 0;
    const int64_t saved = rank_saves_last(&m->s.host.rank_set, &pause);
    goodput_saved(&m->goodput, saved, pause);
}

static int64_t end_of(const struct master_collect *c) {
    return c->began != 0 ? c->began : clock_boot();
}

void accounting_failed(struct master *m) {
    read_own(m);
    goodput_failed(&m->goodput, end_of(&m->collect), goodput_cause_of(&m->failed));
}

/* A stop loses nothing that was not meant to be. */
void accounting_end(struct master *m) {
    const bool failure = m->verdict.code != EXIT_CODE_OK && m->verdict.code != EXIT_CODE_STOPPED;
    const bool ran =
        m->goodput.useful > 0 || m->goodput.failures > 0 || m->goodput.span == GOODPUT_RUNNING;
    char text[GOODPUT_TEXT_SIZE];
    if (m->goodput.span == GOODPUT_OVER)
        return;
    read_own(m);
    goodput_end(&m->goodput, failure ? end_of(&m->collect) : clock_boot(), failure,
                goodput_cause_of(&m->verdict));
    if (!ran)
        return;
    goodput_text(&m->goodput, text);
    log_info("%s", text);
    event_log_put(&m->s.event_log, EVENT_LOG_GOODPUT, goodput_record(&m->goodput));
}

static int measure_causes(const int64_t times[GOODPUT_CAUSES], const char *name, const char *help,
                          struct buf *ret, struct error *err) {
    for (size_t i = 0; i < GOODPUT_CAUSES; i++) {
        char labels[32];
        (void)snprintf(labels, sizeof(labels), "cause=\"%s\"",
                       goodput_cause_name((enum goodput_cause)i));
        if (openmetrics_sample(ret, name, i == 0 ? help : NULL, labels,
                               (double)times[i] / (double)CLOCK_SECOND, err) != 0)
            return -1;
    }
    return 0;
}

int accounting_measure(const struct master *m, struct buf *ret, struct error *err) {
    const struct goodput g = goodput_at(&m->goodput, clock_boot());
    const double second = (double)CLOCK_SECOND;
    if (openmetrics_sample(ret, "ringmaster_goodput_ratio", "useful part of the job's time", "",
                           goodput_ratio(&g), err) != 0 ||
        openmetrics_sample(ret, "ringmaster_startup_seconds", "until all ranks had started", "",
                           (double)g.startup / second, err) != 0 ||
        openmetrics_sample(ret, "ringmaster_useful_seconds", "in which ranks ran", "",
                           (double)g.useful / second, err) != 0 ||
        openmetrics_sample(ret, "ringmaster_checkpoint_seconds", "of ranks that stood still", "",
                           (double)g.checkpoints / second, err) != 0)
        return -1;
    if (measure_causes(g.lost, "ringmaster_lost_seconds", "of ranks, by failures", ret, err) != 0)
        return -1;
    return measure_causes(g.down, "ringmaster_down_seconds", "without ranks, by failures", ret,
                          err);
}
