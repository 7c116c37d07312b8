#include "entrypoint/master/launch_direct.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "entrypoint/master/launch_way.h"
#include "entrypoint/master/pmi_exchange.h"
#include "entrypoint/wire/message.h"

static int begin(struct master *m, struct error *err) {
    const struct cluster *c = &m->s.job->cluster;
    size_t first = 0;
    (void)err;
    if (m->attempt.ranks > 1)
        log_info("each host starts its ranks itself, because %s", m->s.job->launcher.why);
    size_t order[CLUSTER_HOSTS_MAX];
    size_t count = cluster_order(c, order);
    for (size_t i = 0; i < count; i++) {
        master_send(m, order[i],
                    message_with(MESSAGE_RANKS, json_pack("{s:I, s:I}", "first", (json_int_t)first,
                                                          "size", (json_int_t)m->attempt.ranks)));
        first += c->hosts[order[i]].slots;
    }
    return 0;
}

/* Hosts end their shims by themselves: on `kill`, on `clear` and after the verdict. */
static void nothing_to_signal(struct master *m, int number) {
    (void)m;
    (void)number;
}

const struct launch_way launch_direct = {
    .begin = begin, .signal = nothing_to_signal, .close = pmi_exchange_close};

void launch_direct_unstarted(struct member *b, const json_t *message) {
    struct master *m = b->master;
    const char *text = "a rank was not started";
    (void)json_member_string(message, "unstarted", "text", &text, NULL);
    if (attempt_note_unstarted(&m->attempt, (unsigned)b->index, member_name(b), text,
                               clock_boot()) != ATTEMPT_NOTE_FAILURE)
        return;
    log_error("%s", m->attempt.tool_note);
    master_raise(m, EVENT_FAILURE);
}
