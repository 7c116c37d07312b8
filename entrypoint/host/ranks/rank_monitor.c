#include "entrypoint/host/ranks/rank_monitor.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "entrypoint/evidence/thread_states.h"
#include "entrypoint/host/monitor/cpu_time.h"
#include "entrypoint/host/ranks/rank_slot.h"
#include "entrypoint/wire/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

/* Two kinds of silence are watched. A rank that reports its progress is judged by its marks
 * (monitor/stall.h). One that does not is judged by its output and its processor time
 * (monitor/idle.h), which proves less: it may be waiting for another rank.
 *
 * Hosts of a job look at their ranks every look_pause. A single host has no heartbeats that would
 * wake it, so it looks no more often than it must (schedule_look). The first sign of progress is
 * found without any look: the kernel tells when a program opens the memory for it. */

/* Interval of looks; other hosts than a single one look with each heartbeat. */
static const int64_t look_pause = 4 * CLOCK_SECOND;

/* In ns, of the program and all its descendants. It is asked only when it matters, as it reads many
 * files of /proc. */
static int64_t cpu_of(void *context) {
    const struct rank_slot *s = context;
    return cpu_time_below(s->shim);
}

/* Reports a quiet rank. It may be waiting for another one; only the master knows whether all are
 * quiet. */
static void report_quiet(const struct rank_monitor *w, const struct rank_slot *s, int64_t limit) {
    char states[RANK_REPORT_EVIDENCE_SIZE];
    thread_states(s->shim, states, sizeof(states));
    log_warning("rank %u has printed nothing and used no processor for %" PRId64
                " s; its threads: %.512s",
                s->rank, limit, states);
    cleanup_json json_t *members = json_pack("{s:I, s:I, s:s}", "rank", (json_int_t)s->rank,
                                             "seconds", (json_int_t)limit, "states", states);
    rank_sinks_send(w->sinks, MESSAGE_QUIET, members);
}

static void report_busy(const struct rank_monitor *w, const struct rank_slot *s) {
    cleanup_json json_t *members = json_pack("{s:I}", "rank", (json_int_t)s->rank);
    rank_sinks_send(w->sinks, MESSAGE_BUSY, members);
}

/* The limit for a rank that does not report progress. */
static int64_t silence_limit(const struct settings *s) {
    return (s->idle_seconds > 0 ? s->idle_seconds : s->stall_seconds) * CLOCK_SECOND;
}

/* A limit that ends the job was set by the user and is therefore exact. */
static bool is_exact(const struct settings *s) {
    return s->idle_seconds > 0;
}

static void look_at_silent(const struct rank_monitor *w, struct rank_slot *s, int64_t now) {
    if (silence_limit(&w->services->job->settings) == 0)
        return;
    const struct idle_facts facts = {.now = now,
                                     .limit = silence_limit(&w->services->job->settings),
                                     .exact = is_exact(&w->services->job->settings),
                                     .printed = s->out.bytes + s->error_out.bytes,
                                     .cpu = cpu_of,
                                     .context = s};
    switch (idle_look(&s->idle, &facts)) {
    case IDLE_QUIET:
        report_quiet(w, s, facts.limit / CLOCK_SECOND);
        break;
    case IDLE_BUSY:
        report_busy(w, s);
        break;
    case IDLE_NOTHING:
        break;
    }
}

/* LIMIT is in ns, and in seconds in the message. The states of the threads are read now, as the
 * rank may be ended next. */
static void report_stalled(const struct rank_monitor *w, const struct rank_slot *s, int64_t limit) {
    char states[RANK_REPORT_EVIDENCE_SIZE];
    thread_states(s->shim, states, sizeof(states));
    cleanup_json json_t *members =
        json_pack("{s:I, s:I, s:s}", "rank", (json_int_t)s->rank, "seconds",
                  (json_int_t)(limit / CLOCK_SECOND), "states", states);
    rank_sinks_send(w->sinks, MESSAGE_STALLED, members);
}

/* Only a warning: no limit of the user has passed, but the rank has never paused so long. */
static void say_late(const struct rank_slot *s, int64_t now) {
    char states[RANK_REPORT_EVIDENCE_SIZE];
    thread_states(s->shim, states, sizeof(states));
    log_warning("rank %u has reported no progress for %" PRId64
                " s, ten times as long as ever before; its threads: %.512s",
                s->rank, (now - s->stall.marked_at) / CLOCK_SECOND, states);
}

/* Looks at one rank. Returns the limit of its silence; 0: none. A rank that has ended is not looked
 * at. */
static int64_t look_at(const struct rank_monitor *w, struct rank_slot *s, int64_t now) {
    const struct settings *settings = &w->services->job->settings;
    const struct stall_rule rule = {.most = settings->stall_seconds * CLOCK_SECOND,
                                    .learned = settings->stall_learned};
    struct progress_state state = progress_read(&s->progress);
    if (s->reported)
        return 0;
    enum stall_news news = stall_look(&s->stall, &state, &rule, now);
    if (state.marks == 0) {
        look_at_silent(w, s, now);
        return silence_limit(settings);
    }
    if (s->idle.quiet) /* from here on the rank is watched by its marks */
        report_busy(w, s);
    s->idle.quiet = false;
    int64_t limit = stall_limit(&s->stall, &state, &rule);
    if (news == STALL_STALLED)
        report_stalled(w, s, limit);
    else if (news == STALL_LATE)
        say_late(s, now);
    return limit;
}

/* --- schedule -------------------------------------------------------------------------------- */

static bool is_alone(const struct rank_monitor *w) {
    return w->services->job->cluster.count == 1;
}

/* Without any of these settings no timer runs at all. */
static bool is_asked_for(const struct settings *s) {
    return s->stall_seconds > 0 || s->idle_seconds > 0 || s->stall_learned;
}

/* Result of a look at all ranks of this host. */
struct looked {
    int64_t limit; /* the smallest limit of a silence; 0: none */
    int64_t rest;  /* time until a rank without marks may have to be reported; -1: never */
    bool taught;   /* every rank has shown its usual pace */
};

/* Schedules the next look. A single host has no heartbeats that would wake it, and silence causes
 * no event. Once a rank opens the memory for its progress, looks begin and become rarer as ranks
 * show their pace. Before that, a silence is looked at twice: after it begins and when its limit
 * ends. */
static void schedule_look(struct rank_monitor *w, const struct looked *l) {
    bool often = w->shown || w->services->job->settings.idle_seconds > 0;
    if (!is_alone(w))
        w->pause = look_pause;
    else if (often)
        w->pause = stall_pause(l->taught ? w->pause : 0, l->limit);
    else if (l->rest >= 0)
        w->pause = l->rest > look_pause ? l->rest : look_pause;
    else
        return;
    loop_within(w->services->loop, &w->look, w->pause);
}

/* The time until a rank without marks may have to be reported; -1: never. */
static int64_t rest_of(const struct rank_monitor *w, const struct rank_slot *s, int64_t now) {
    int64_t silence = silence_limit(&w->services->job->settings);
    bool exact = is_exact(&w->services->job->settings);
    return silence > 0 && !s->reported ? idle_pause(&s->idle, silence, exact, now) : -1;
}

/* Returns the smaller of A and B, of which NONE stands for no time at all. */
static int64_t sooner(int64_t a, int64_t b, int64_t none) {
    return a == none || (b != none && b < a) ? b : a;
}

/* STOOD_STILL: silences begin anew, because this process could not see what happened meanwhile. */
static void look_at_all(struct rank_monitor *w, bool stood_still, int64_t now, struct looked *ret) {
    *ret = (struct looked){.rest = -1, .taught = true};
    for (struct rank_slot *s = *w->slots; s != NULL; s = s->next) {
        if (stood_still) {
            stall_skip(&s->stall, now);
            idle_skip(&s->idle, now);
        }
        ret->limit = sooner(ret->limit, look_at(w, s, now), 0);
        ret->rest = sooner(ret->rest, rest_of(w, s, now), -1);
        ret->taught &= s->reported || stall_is_taught(&s->stall);
        w->shown |= s->stall.marks != 0;
    }
}

/* Looks at all ranks. If this process itself was paused (with its container), silence says nothing
 * about ranks. */
static void look_at_ranks(void *context) {
    struct rank_monitor *w = context;
    struct looked looked;
    int64_t now = clock_now();
    look_at_all(w, now - w->look.deadline > look_pause, now, &looked);
    schedule_look(w, &looked);
}

/* --- first sign of progress ------------------------------------------------------------------ */

/* Returns true if a rank has opened its memory. The kernel also reports memory that is no longer
 * watched. */
static bool has_open(int fd) {
    char bytes[16 * sizeof(struct inotify_event)];
    struct inotify_event event;
    bool found = false;
    ssize_t size = read(fd, bytes, sizeof(bytes));
    for (ssize_t at = 0; at + (ssize_t)sizeof(event) <= size;) {
        memcpy(&event, bytes + at, sizeof(event));
        found |= (event.mask & IN_OPEN) != 0;
        at += (ssize_t)(sizeof(event) + event.len);
    }
    return found;
}

/* Starts the looks when a rank has opened its memory. The descriptor stays open, because closing it
 * can take the kernel some 10 ms if a watch was removed just before. */
static void opened(void *context, uint32_t events) {
    struct rank_monitor *w = context;
    const struct looked none = {0};
    (void)events;
    if (!has_open(w->opens.fd))
        return;
    loop_unwatch(w->services->loop, &w->opens);
    w->shown = true;
    if (w->begun)
        schedule_look(w, &none);
}

/* Watches the memory with inotify, which works because it is a file to the kernel. */
static bool watch_memory(struct rank_monitor *w, struct rank_slot *s, int fd) {
    char path[32];
    struct error ignored;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (w->opens.fd < 0)
        w->opens.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    s->opens = w->opens.fd < 0 ? -1 : inotify_add_watch(w->opens.fd, path, IN_OPEN | IN_ONESHOT);
    return s->opens >= 0 &&
           (w->opens.active || loop_watch(w->services->loop, &w->opens, EPOLLIN, &ignored) == 0);
}

/* If the memory cannot be watched, the monitor acts as if it had been opened, and looks often. */
void rank_monitor_add(struct rank_monitor *w, struct rank_slot *slot, int fd) {
    slot->opens = -1;
    if (is_alone(w) && is_asked_for(&w->services->job->settings) && fd >= 0 && !w->shown)
        w->shown = !watch_memory(w, slot, fd);
}

void rank_monitor_remove(const struct rank_monitor *w, struct rank_slot *slot) {
    if (slot->opens >= 0)
        (void)inotify_rm_watch(w->opens.fd, slot->opens);
    slot->opens = -1;
}

/* --- its life -------------------------------------------------------------------------------- */

void rank_monitor_init(struct rank_monitor *w, const struct services *services,
                       const struct rank_sinks *sinks, struct rank_slot *const *slots) {
    *w = (struct rank_monitor){.services = services,
                               .sinks = sinks,
                               .slots = slots,
                               .look = {.fire = look_at_ranks, .context = w},
                               .opens = {.fd = -1, .ready = opened, .context = w}};
}

/* A rank's silence begins now and not with its registration, since when it has waited for others.
 */
void rank_monitor_begin(struct rank_monitor *w) {
    struct looked looked = {.rest = -1, .taught = true};
    int64_t now = clock_now();
    w->pause = 0;
    if (!is_asked_for(&w->services->job->settings))
        return;
    w->begun = true;
    for (struct rank_slot *s = *w->slots; s != NULL; s = s->next) {
        idle_skip(&s->idle, now);
        looked.rest = sooner(looked.rest, rest_of(w, s, now), -1);
    }
    schedule_look(w, &looked);
}

void rank_monitor_close(struct rank_monitor *w) {
    if (w->services == NULL)
        return;
    loop_cancel(w->services->loop, &w->look);
    loop_unwatch(w->services->loop, &w->opens);
    if (w->opens.fd >= 0)
        (void)close(w->opens.fd);
    w->opens.fd = -1;
    w->begun = w->shown = false;
}
