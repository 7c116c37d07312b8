#include "entrypoint/master/stragglers.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"

enum { POINT_NUMBERS = 4, LOOK_SECONDS = 3, ALONE_SECONDS = 15 };

/* Reads [rank, step, work, data]; returns false for anything else. */
static bool read_point(const json_t *item, int64_t *ret_rank, struct straggler_point *ret) {
    uint64_t numbers[POINT_NUMBERS];
    if (json_array_size(item) != POINT_NUMBERS)
        return false;
    for (size_t i = 0; i < POINT_NUMBERS; i++) {
        const json_t *number = json_array_get(item, i);
        if (!json_is_integer(number) || json_integer_value(number) < 0)
            return false;
        numbers[i] = (uint64_t)json_integer_value(number);
    }
    *ret_rank = (int64_t)numbers[0];
    *ret = (struct straggler_point){
        .at = clock_now(), .step = numbers[1], .work_us = numbers[2], .data_us = numbers[3]};
    return true;
}

static void take(struct member *b, const json_t *ranks) {
    for (size_t i = 0; i < json_array_size(ranks); i++) {
        struct straggler_point point;
        int64_t rank = -1;
        if (read_point(json_array_get(ranks, i), &rank, &point))
            attempt_pace(&b->master->attempt, b->index, rank, &point);
    }
}

void stragglers_receive(struct member *b, const json_t *alive) {
    const struct master *m = b->master;
    if (m->phase == PHASE_RUNNING &&
        json_integer_value(json_object_get(alive, "attempt")) == m->attempt.number)
        take(b, json_object_get(alive, "ranks"));
}

static void say(struct master *m, const struct straggler_finding *f) {
    char text[STRAGGLER_TEXT_SIZE];
    const char *name = supervisor_host_name(&m->s, m->attempt.rank_host[f->rank]);
    straggler_describe(f, text);
    log_warning("straggler on %s: %s", name, text);
    event_log_put(&m->s.event_log, EVENT_LOG_STRAGGLER,
                  json_pack("{s:s, s:I, s:b, s:f, s:f, s:f}", "which", name, "rank",
                            (json_int_t)f->rank, "behind", (int)f->behind, "seconds", f->seconds,
                            "data", f->data, "others", f->others));
}

/* Looks again with a heartbeat, of which several come in that time; a single host is woken by
 * nothing else. */
static void look_again(struct master *m) {
    int64_t seconds = m->s.job->cluster.count > 1 ? LOOK_SECONDS : ALONE_SECONDS;
    loop_within(&m->s.loop, &m->stragglers.look, seconds * CLOCK_SECOND);
}

/* This host has no heartbeat. */
static void look(void *context) {
    struct master *m = context;
    struct straggler_finding finding;
    if (m->phase == PHASE_RUNNING) {
        cleanup_json json_t *own = rank_set_pace(&m->s.host.rank_set);
        take(&m->members[0], own);
        if (attempt_find_slow(&m->attempt, clock_now(), &finding))
            say(m, &finding);
    }
    look_again(m);
}

void stragglers_open(struct master *m) {
    m->stragglers.look = (struct timer){.fire = look, .context = m};
    if (cluster_ranks(&m->s.job->cluster) > 1)
        look_again(m);
}

void stragglers_close(struct master *m) {
    loop_cancel(&m->s.loop, &m->stragglers.look);
}
