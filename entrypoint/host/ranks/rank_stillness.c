#include "entrypoint/host/ranks/rank_stillness.h"

#include "common/clock.h"
#include "entrypoint/host/monitor/cpu_time.h"
#include "entrypoint/host/ranks/rank_slot.h"

#include <string.h>
#include <unistd.h>

/* Reading the processor time takes a while: not before this silence, and not more often. */
static const int64_t quiet_least = 4 * CLOCK_SECOND;
static const int64_t cpu_pause = 2 * CLOCK_SECOND;
/* Ranks that wait in the kernel use less than a twentieth of a processor each. */
enum { IDLE_SHARE = 20 };

static bool runs(const struct rank_slot *s) {
    return s->link != NULL && !s->reported;
}

/* Returns when the rank was last seen to do something. */
static int64_t look_at(const struct rank_set *c, struct rank_slot *s, int64_t now) {
    uint64_t marks = progress_read(&s->progress).marks;
    uint64_t printed = s->out.bytes + s->error_out.bytes;
    if (now < c->echo_until)
        s->sign.printed = printed;
    if (s->sign.since == 0 || marks != s->sign.marks || printed != s->sign.printed)
        s->sign = (struct rank_sign){.marks = marks, .printed = printed, .since = now};
    return s->sign.since;
}

void rank_stillness_echo(struct rank_set *c, int64_t until) {
    c->echo_until = until;
}

/* Processor time of all processes of this container, of which the ranks are the greatest part. */
static bool is_busy(struct rank_set *c, unsigned ranks, int64_t now) {
    if (c->cpu.at == 0) {
        c->cpu.at = now;
        c->cpu.time = cpu_time_below(getpid());
        c->cpu.busy = true;
    } else if (now - c->cpu.at >= cpu_pause) {
        int64_t time = cpu_time_below(getpid());
        c->cpu.busy = (time - c->cpu.time) * IDLE_SHARE >= (now - c->cpu.at) * ranks;
        c->cpu.at = now;
        c->cpu.time = time;
    }
    return c->cpu.busy;
}

struct rank_stillness rank_stillness_look(struct rank_set *c, int64_t now) {
    struct rank_stillness ret = {.still = -1, .busy = true};
    unsigned ranks = 0;
    for (struct rank_slot *s = c->slots; c->started && s != NULL; s = s->next) {
        if (!runs(s))
            continue;
        int64_t still = now - look_at(c, s, now);
        if (ret.still < 0 || still < ret.still)
            ret.still = still;
        ranks++;
    }
    if (ret.still < quiet_least)
        c->cpu.at = 0;
    else
        ret.busy = is_busy(c, ranks, now);
    return ret;
}

void rank_stillness_put(struct rank_set *c, json_t *message) {
    struct rank_stillness s = rank_stillness_look(c, clock_now());
    /* Heartbeats begin before the set belongs to a job; without ranks nothing stands still. */
    if (s.still < 0 || !c->services->job->settings.evidence)
        return;
    (void)json_object_set_new(message, "attempt", json_integer(c->attempt));
    (void)json_object_set_new(message, "still",
                              json_integer((json_int_t)(s.still / CLOCK_MILLISECOND)));
    (void)json_object_set_new(message, "busy", json_boolean(s.busy));
}

size_t rank_stillness_list(const struct rank_set *c, struct gather_rank *ret, size_t max) {
    size_t count = 0;
    for (const struct rank_slot *s = c->slots; s != NULL && count < max; s = s->next)
        if (runs(s)) {
            struct tail last;
            tail_join(&s->tail, &s->error_tail, &last);
            const size_t size = strlen(last.text);
            const size_t most = GATHER_ORDER_LINES_SIZE - 1;
            ret[count] = (struct gather_rank){.rank = s->rank, .shim = s->shim};
            (void)snprintf(ret[count++].lines, GATHER_ORDER_LINES_SIZE, "%s",
                           last.text + (size > most ? size - most : 0));
        }
    return count;
}
