#include "entrypoint/master/verdict_delivery.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "entrypoint/wire/message.h"

#include <string.h>

static json_t *verdict_frame(const struct verdict *v) {
    return message_with(MESSAGE_VERDICT, verdict_json(v));
}

void verdict_delivery_begin(struct master *m) {
    json_t *message = verdict_frame(&m->verdict);
    for (size_t i = 1; message != NULL && i < m->s.job->cluster.count; i++)
        master_send(m, i, json_incref(message));
    json_decref(message);
    master_flush(m); /* first, as everything else takes time */
}

void verdict_delivery_heard(struct member *b) {
    b->informed = true;
    supervisor_may_leave(&b->master->s);
}

/* Returns the run that a host names in its join. */
static const char *run_of(const json_t *message) {
    const json_t *known = json_object_get(message, "succession");
    const char *run = json_string_value(json_object_get(known, "run"));
    return run != NULL ? run : "";
}

bool verdict_delivery_is_asked(const struct master *m, const json_t *message) {
    return m->phase == PHASE_JUDGED && m->s.judged && m->s.host.run[0] != '\0' &&
           strcmp(run_of(message), m->s.host.run) == 0;
}

void verdict_delivery_meet(struct member *b, struct link *link) {
    struct master *m = b->master;
    link_free(b->link);
    b->link = link;
    b->informed = false;
    link_own(link, m->accept.events, b);
    link_set_silence(link, m->s.job->settings.dead_seconds);
    member_heard(b);
    log_info("%s is back and is sent the verdict", member_name(b));
    master_send(m, b->index, verdict_frame(&m->verdict));
    link_flush(link);
}

/* Without a link it may connect again as long as it can believe that this host is there. */
static bool waits(const struct member *b) {
    int64_t lease = settings_dead(&b->master->s.job->settings);
    bool has_part = b->joined && !b->lost;
    if (b->informed)
        return false;
    return b->link != NULL || (has_part && clock_now() - b->heard < lease);
}

bool verdict_delivery_is_expected(const struct master *m, size_t host) {
    const struct member *b = &m->members[host];
    bool missing =
        m->phase_before == PHASE_GATHERING && !m->s.job->cluster.hosts[host].gone && !b->informed;
    return b->link != NULL || missing;
}

bool verdict_delivery_is_owed(const struct master *m) {
    if (m->verdict.code != EXIT_CODE_OK)
        return false;
    for (size_t i = 1; i < m->s.job->cluster.count; i++)
        if (waits(&m->members[i]))
            return true;
    return false;
}
