#include "entrypoint/master/pmi_exchange.h"

#include "common/clock.h"
#include "common/log/log.h"
#include "entrypoint/wire/message.h"

#include <stdio.h>

enum { TEXT_SIZE = 192 };

static void fail(struct master *m, size_t host, const char *text) {
    if (attempt_note_unstarted(&m->attempt, (unsigned)host, member_name(&m->members[host]), text,
                               clock_boot()) != ATTEMPT_NOTE_FAILURE)
        return;
    log_error("%s", m->attempt.tool_note);
    master_raise(m, EVENT_FAILURE);
}

/* Returns the first host with ranks that are not in the barrier; the number of hosts if all are. */
static size_t find_absent(const struct master *m) {
    const struct cluster *c = &m->s.job->cluster;
    size_t host = 0;
    while (host < c->count && (!cluster_has_ranks(&c->hosts[host]) || m->members[host].in_barrier))
        host++;
    return host;
}

static int64_t longest_seconds(const struct master *m) {
    return m->s.job->settings.ready_seconds;
}

static void too_long(void *context) {
    struct master *m = context;
    char text[TEXT_SIZE];
    size_t host = find_absent(m);
    (void)snprintf(text, sizeof(text),
                   "not all ranks of this host came to a barrier of PMI within %lld s "
                   "(RINGMASTER_READY_SECONDS), as MPI_Init has them",
                   (long long)longest_seconds(m));
    if (m->phase == PHASE_RUNNING && host < m->s.job->cluster.count)
        fail(m, host, text);
}

void pmi_exchange_pairs(struct member *b, const json_t *message) {
    struct error err = {0};
    struct master *m = b->master;
    if (m->attempt.direct &&
        pmi_space_take(&m->pmi.fresh, json_object_get(message, "pairs"), &err) != 0)
        fail(m, b->index, err.text);
}

/* What is new goes to all hosts, and then that they may continue. */
static void pass(struct master *m) {
    size_t next = 0;
    loop_cancel(&m->s.loop, &m->pmi.deadline);
    for (json_t *pairs; (pairs = pmi_space_json(&m->pmi.fresh, &next)) != NULL;)
        master_send_all(m, message_with(MESSAGE_PAIRS, json_pack("{s:o}", "pairs", pairs)));
    master_send_all(m, message_new(MESSAGE_PASSED));
    pmi_space_done(&m->pmi.fresh);
    for (size_t i = 0; i < m->s.job->cluster.count; i++)
        m->members[i].in_barrier = false;
}

void pmi_exchange_barrier(struct member *b) {
    struct master *m = b->master;
    if (!m->attempt.direct)
        return;
    b->in_barrier = true;
    if (find_absent(m) == m->s.job->cluster.count) {
        pass(m);
    } else if (!m->pmi.deadline.active) {
        m->pmi.deadline = (struct timer){.fire = too_long, .context = m};
        loop_after(&m->s.loop, &m->pmi.deadline, longest_seconds(m) * CLOCK_SECOND);
    }
}

void pmi_exchange_close(struct master *m) {
    loop_cancel(&m->s.loop, &m->pmi.deadline);
    pmi_space_done(&m->pmi.fresh);
    for (size_t i = 0; m->members != NULL && i < m->s.job->cluster.count; i++)
        m->members[i].in_barrier = false;
}
