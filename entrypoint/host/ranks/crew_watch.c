#include "ranks/crew_watch.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "ranks/seat.h"
#include "watch/cpu_time.h"
#include "watch/thread_states.h"

#include <inttypes.h>

/* Or with a heartbeat. */
static const int64_t watch_pause = 4 * CLOCK_SECOND;

static int64_t cpu_of(void *context) {
    const struct seat *s = context;
    return cpu_time_below(s->shim);
}

/* One rank that rests may wait for another one: what it means when all do, the master knows. */
static void tell_quiet(const struct crew_watch *w, const struct seat *s, int64_t limit) {
    char states[RANK_REPORT_EVIDENCE_SIZE];
    thread_states(s->shim, states, sizeof(states));
    log_warning("rank %u has printed nothing and done nothing for %" PRId64
                " s; its threads: %.512s",
                s->rank, limit, states);
    cleanup_json json_t *members = json_pack("{s:I, s:I, s:s}", "rank", (json_int_t)s->rank,
                                             "seconds", (json_int_t)limit, "states", states);
    crew_sinks_tell(w->sinks, "quiet", members);
}

static void tell_busy(const struct crew_watch *w, const struct seat *s) {
    cleanup_json json_t *members = json_pack("{s:I}", "rank", (json_int_t)s->rank);
    crew_sinks_tell(w->sinks, "busy", members);
}

/* Of one without marks. */
static int64_t silence_limit(const struct settings *s) {
    return (s->idle_seconds > 0 ? s->idle_seconds : s->stall_seconds) * CLOCK_SECOND;
}

static void look_at_silent(const struct crew_watch *w, struct seat *s, int64_t now) {
    if (silence_limit(&w->job->settings) == 0)
        return;
    const struct idleness_facts facts = {.now = now,
                                         .limit = silence_limit(&w->job->settings),
                                         .printed = s->out.bytes + s->error_out.bytes,
                                         .cpu = cpu_of,
                                         .context = s};
    switch (idleness_look(&s->idleness, &facts)) {
    case IDLENESS_QUIET:
        tell_quiet(w, s, facts.limit / CLOCK_SECOND);
        break;
    case IDLENESS_BUSY:
        tell_busy(w, s);
        break;
    case IDLENESS_NOTHING:
        break;
    }
}

static void tell_stalled(const struct crew_watch *w, const struct seat *s, int64_t limit) {
    char states[RANK_REPORT_EVIDENCE_SIZE];
    thread_states(s->shim, states, sizeof(states));
    cleanup_json json_t *members =
        json_pack("{s:I, s:I, s:s}", "rank", (json_int_t)s->rank, "seconds",
                  (json_int_t)(limit / CLOCK_SECOND), "states", states);
    crew_sinks_tell(w->sinks, "stalled", members);
}

static void say_late(const struct seat *s, int64_t now) {
    char states[RANK_REPORT_EVIDENCE_SIZE];
    thread_states(s->shim, states, sizeof(states));
    log_warning("rank %u has shown no progress for %" PRId64
                " s, ten times as long as ever before; its threads: %.512s",
                s->rank, (now - s->vigil.marked_at) / CLOCK_SECOND, states);
}

/* Returns what limits its silence; 0: nothing does. */
static int64_t look_at(const struct crew_watch *w, struct seat *s, int64_t now) {
    const struct settings *settings = &w->job->settings;
    const struct vigil_rule rule = {.most = settings->stall_seconds * CLOCK_SECOND,
                                    .learned = settings->stall_learned};
    struct progress_state state = progress_read(&s->progress);
    if (s->reported)
        return 0;
    enum vigil_news news = vigil_look(&s->vigil, &state, &rule, now);
    if (state.marks == 0) {
        look_at_silent(w, s, now);
        return silence_limit(settings);
    }
    if (s->idleness.quiet) /* it is watched by its marks from here on */
        tell_busy(w, s);
    s->idleness.quiet = false;
    int64_t limit = vigil_limit(&s->vigil, &state, &rule);
    if (news == VIGIL_STALLED)
        tell_stalled(w, s, limit);
    else if (news == VIGIL_LATE)
        say_late(s, now);
    return limit;
}

/* A host alone is woken by nothing else: it looks the less often the longer a silence may last,
 * once its ranks have shown what to expect. Not at all it cannot: a silence is no event, neither is
 * a first mark in memory, and who asks for no limit is still told of a rank that does nothing. A
 * look a minute is the price, and none where stall and idle seconds are 0. */
static void watch_again(struct crew_watch *w, int64_t limit, bool taught) {
    bool alone = w->job->cluster.count == 1;
    w->pause = alone ? vigil_pause(taught ? w->pause : 0, limit) : watch_pause;
    loop_within(w->loop, &w->look, w->pause);
}

/* When this process itself stood still (a paused container), silence says nothing about ranks. */
static void watch(void *context) {
    struct crew_watch *w = context;
    int64_t now = clock_now();
    int64_t least = 0;
    bool taught = true;
    bool stood_still = now - w->look.deadline > watch_pause;
    for (struct seat *s = *w->seats; s != NULL; s = s->next) {
        if (stood_still) {
            vigil_skip(&s->vigil, now);
            idleness_skip(&s->idleness, now);
        }
        int64_t limit = look_at(w, s, now);
        if (limit > 0 && (least == 0 || limit < least))
            least = limit;
        taught &= s->reported || vigil_is_taught(&s->vigil);
    }
    watch_again(w, least, taught);
}

void crew_watch_init(struct crew_watch *w, struct loop *loop, const struct job *job,
                     const struct crew_sinks *sinks, struct seat *const *seats) {
    *w = (struct crew_watch){.loop = loop,
                             .job = job,
                             .sinks = sinks,
                             .seats = seats,
                             .look = {.fire = watch, .context = w}};
}

void crew_watch_begin(struct crew_watch *w) {
    const struct settings *settings = &w->job->settings;
    w->pause = 0;
    if (settings->stall_seconds > 0 || settings->idle_seconds > 0 || settings->stall_learned)
        watch_again(w, 0, true);
}

void crew_watch_close(struct crew_watch *w) {
    loop_cancel(w->loop, &w->look);
}
