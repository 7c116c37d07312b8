#include "entrypoint/master/preflight/preflight.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "entrypoint/wire/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

/* slightly more than a host gives itself (PREFLIGHT_PROBE_MS) */
enum { ANSWERS_MS = PREFLIGHT_PROBE_MS + 500 };

static void raise_if_complete(struct master *m) {
    const struct examined *hosts = m->preflight.hosts;
    for (size_t i = 0; i < m->s.job->cluster.count; i++)
        if (hosts[i].asked && hosts[i].found == NULL)
            return;
    loop_cancel(&m->s.loop, &m->preflight.deadline);
    master_raise(m, EVENT_EXAMINED);
}

static void deadline_passed(void *context) {
    master_raise(context, EVENT_EXAMINED);
}

void preflight_init(struct master *m) {
    m->preflight.deadline = (struct timer){.fire = deadline_passed, .context = m};
}

int preflight_open(struct master *m, struct error *err) {
    if (!m->check)
        return 0;
    m->preflight.hosts = calloc(m->s.job->cluster.count, sizeof(*m->preflight.hosts));
    return m->preflight.hosts != NULL ? 0 : error_no_memory(err, "what hosts tell");
}

void preflight_close(struct master *m) {
    if (m->preflight.hosts == NULL)
        return;
    loop_cancel(&m->s.loop, &m->preflight.deadline);
    for (size_t i = 0; i < m->s.job->cluster.count; i++)
        json_decref(m->preflight.hosts[i].found);
    free(m->preflight.hosts);
    m->preflight.hosts = NULL;
}

/* --- the order ---------------------------------------------------------------------------------
 */

/* Returns 32 hexadecimal digits that outsiders cannot guess. */
static json_t *new_word(void) {
    uint64_t numbers[2];
    if (getrandom(numbers, sizeof(numbers), 0) != (ssize_t)sizeof(numbers))
        return NULL;
    return json_sprintf("%016" PRIx64 "%016" PRIx64, numbers[0], numbers[1]);
}

/* Returns the addresses that Open MPI will use. */
static json_t *peers_json(const struct master *m) {
    json_t *list = json_array();
    for (size_t i = 0; i < m->s.job->cluster.count; i++) {
        char address[NET_ADDRESS_TEXT];
        const struct member *b = &m->members[i];
        uint16_t port = b->joined ? b->examine_port : 0;
        net_address_text(&m->s.job->cluster.hosts[i].address, address);
        (void)json_array_append_new(list, json_pack("[s, i]", address, (int)port));
    }
    return list;
}

static json_t *new_order(const struct master *m) {
    json_t *order = message_new(MESSAGE_EXAMINE);
    (void)json_object_set_new(order, "peers", peers_json(m));
    (void)json_object_set_new(order, "ask", new_word());
    (void)json_object_set_new(order, "answer", new_word());
    return order;
}

int preflight_begin(struct master *m, struct error *err) {
    m->members[0].examine_port = supervisor_examine_port(&m->s);
    cleanup_json json_t *order = new_order(m);
    if (order == NULL || json_object_get(order, "answer") == NULL)
        return error_set(err, EXIT_CODE_INTERNAL, "an order to look at all hosts");
    for (size_t i = 0; i < m->s.job->cluster.count; i++)
        m->preflight.hosts[i].asked = m->members[i].joined;
    for (size_t i = 1; i < m->s.job->cluster.count; i++)
        if (m->members[i].joined)
            master_send(m, i, json_incref(order));
    master_flush(m); /* they must start at the same time */
    supervisor_examine(&m->s, order);
    loop_after(&m->s.loop, &m->preflight.deadline, ANSWERS_MS * CLOCK_MILLISECOND);
    return 0;
}

void preflight_receive(struct member *b, const json_t *message) {
    struct master *m = b->master;
    json_t *found = json_object_get(message, "found");
    if (m->phase != PHASE_EXAMINING || m->preflight.hosts[b->index].found != NULL ||
        !json_is_object(found))
        return;
    m->preflight.hosts[b->index].found = json_incref(found);
    raise_if_complete(m);
}

void preflight_left(struct member *b) {
    b->master->preflight.hosts[b->index].asked = false;
    raise_if_complete(b->master);
}
