#include "entrypoint/master/state/state.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "entrypoint/wire/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

void master_send(struct master *m, size_t host, json_t *message) {
    (void)json_object_set_new(message, "attempt", json_integer(m->attempt.number));
    if (host == 0)
        message_queue_put(&m->to_self, message);
    else if (m->members[host].link != NULL)
        link_send(m->members[host].link, message);
    else
        json_decref(message);
}

void master_send_all(struct master *m, json_t *message) {
    for (size_t i = 0; i < m->s.job->cluster.count; i++)
        master_send(m, i, json_incref(message));
    json_decref(message);
}

void master_flush(struct master *m) {
    for (size_t i = 1; i < m->s.job->cluster.count; i++)
        if (m->members[i].link != NULL)
            link_flush(m->members[i].link);
}

void master_refuse(struct link *link, int64_t version, const struct error *why) {
    json_t *message = message_new_for(version, MESSAGE_REFUSE);
    (void)json_object_set_new(message, "code", json_integer(why->code));
    (void)json_object_set_new(message, "text", json_string_any(why->text));
    link_part(link, message);
}

int master_draw_name(char ret[ATTEMPT_RUN_SIZE], struct error *err) {
    uint64_t number = 0;
    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        return error_set_errno(err, EXIT_CODE_INTERNAL, "drawing a name");
    (void)snprintf(ret, ATTEMPT_RUN_SIZE, "%016" PRIx64, number);
    return 0;
}

void master_raise(struct master *m, enum phase_event event) {
    m->raise(m, &(struct raised){.event = event});
}

void master_raise_about(struct member *b, enum phase_event event, const char *why) {
    b->master->raise(b->master, &(struct raised){.event = event, .member = b, .why = why});
}

void master_raise_word(struct member *b, enum phase_event event, const json_t *word) {
    b->master->raise(b->master, &(struct raised){.event = event, .member = b, .word = word});
}

json_t *master_greeting(const struct master *m, enum message kind) {
    return message_with(kind, json_pack("{s:s, s:b}", "run", m->s.host.run, "pid1", getpid() == 1));
}

void member_heard(struct member *b) {
    b->heard = clock_now();
}

bool member_is_fresh(const struct member *b) {
    return b->link != NULL &&
           clock_now() - b->heard <
               settings_beat(&b->master->s.job->settings, b->master->s.job->cluster.count) +
                   CLOCK_SECOND;
}

bool member_is_duplicate(struct member *b, const struct net_address *peer) {
    enum { ASKS_AGAIN_SECONDS = 5 }; /* a refused host asks again within two */
    int64_t now = clock_now();
    if (!net_address_equal(&b->address, peer))
        return true;
    if (b->claimed_last == 0 || now - b->claimed_last > ASKS_AGAIN_SECONDS * CLOCK_SECOND)
        b->claimed = now;
    b->claimed_last = now;
    return b->heard > b->claimed;
}

const char *member_name(const struct member *b) {
    return supervisor_host_name(&b->master->s, b->index);
}

size_t master_spares_left(const struct master *m) {
    size_t left = 0;
    for (size_t i = 0; i < m->s.job->cluster.count; i++)
        left += m->s.job->cluster.hosts[i].spare && !m->members[i].lost;
    return left;
}

size_t master_hosts_left(const struct master *m) {
    size_t left = 0;
    for (size_t i = 0; i < m->s.job->cluster.count; i++)
        left += !m->members[i].lost;
    return left;
}
