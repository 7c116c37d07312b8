#include "entrypoint/master/reports.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "entrypoint/evidence/stuck.h"
#include "entrypoint/master/accounting.h"
#include "entrypoint/master/members/lease.h"
#include "entrypoint/master/standing.h"
#include "entrypoint/wire/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* An attempt ends in steps that this file times. After the first failure reports are gathered for
 * 300 ms, since the rank that reports first is often the victim of another one's end
 * (reports_gather). Then the ranks that are left get SIGTERM, and SIGKILL half a second later. The
 * attempt is judged when every rank has reported, or at a deadline, which a further event can only
 * bring nearer (await).
 *
 * Shims that have reported are held during the gathering: mpirun ends all ranks as soon as one shim
 * exits, and that would turn causes into victims.
 *
 * The same file decides what a report means while the attempt continues. A rank may be lost if the
 * user allows that, and ranks that all rest wait for no other rank. */

/* Times from an event to the verdict. The earliest deadline of several events counts. */
static const int64_t after_failure = 10 * CLOCK_SECOND; /* upper limit */
static const int64_t gather =
    300 * CLOCK_MILLISECOND; /* the first rank to report is often a victim */
static const int64_t grace = 500 * CLOCK_MILLISECOND;    /* from SIGTERM to SIGKILL */
static const int64_t after_kill = CLOCK_SECOND;          /* from SIGKILL to the verdict */
static const int64_t after_loss = CLOCK_SECOND / 2;      /* nothing outranks a lost host */
static const int64_t after_mpirun = CLOCK_SECOND;        /* the last reports are on their way */
static const int64_t once_more = 50 * CLOCK_MILLISECOND; /* queued messages are read meanwhile */

/* Returns true if mpirun has ended and a host with unreported ranks has been silent since: its
 * reports are on their way, or it is lost. */
static bool misses_silent_host(const struct master *m) {
    for (size_t i = 1; i < m->s.job->cluster.count; i++)
        if (attempt_misses(&m->attempt, i) &&
            !lease_answered(&m->members[i], m->collect.mpirun_ended))
            return true;
    return false;
}

/* Returns how much longer to wait for reports; 0 if no longer. A silent host gets its whole lease,
 * and then as much time for its reports as the others had. This container may have been paused,
 * too, and not have read what is queued here. */
static int64_t more_time(struct master *m) {
    bool in_doubt =
        misses_silent_host(m) || clock_now() - m->collect.deadline.deadline > after_mpirun;
    int64_t more = in_doubt || m->collect.doubted ? after_mpirun : once_more;
    if (!in_doubt && m->collect.looked)
        return 0;
    m->collect.doubted = in_doubt;
    m->collect.looked = !in_doubt;
    return more;
}

/* After a failure, a loss or SIGKILL the deadline is final, as missing reports are no news then.
 * After mpirun's end without any of these, the reports that are missing decide between success and
 * failure, so more time may be given. */
static void deadline_passed(void *context) {
    struct master *m = context;
    bool waits = m->collect.mpirun_ended != 0 && !attempt_knows_why(&m->attempt) &&
                 !attempt_is_complete(&m->attempt);
    int64_t more = waits ? more_time(m) : 0;
    if (more > 0)
        loop_after(&m->s.loop, &m->collect.deadline, more);
    else
        master_raise(m, EVENT_COLLECT_DEADLINE);
}

/* Several things end an attempt, one after the other: the earliest of their deadlines counts, or a
 * rank that hangs in its teardown would delay a verdict that is clear already. */
static void await(struct master *m, int64_t nanoseconds) {
    struct timer *timer = &m->collect.deadline;
    int64_t deadline = clock_now() + nanoseconds;
    if (!m->attempt.ending)
        m->collect.began = clock_boot();
    attempt_begin_end(&m->attempt);
    if (!timer->active || timer->deadline > deadline)
        loop_at(&m->s.loop, timer, deadline);
}

void reports_await_lost(struct master *m) {
    await(m, after_loss);
    if (attempt_is_complete(&m->attempt))
        master_raise(m, EVENT_ALL_HEARD);
}

void reports_await_last(struct master *m) {
    m->collect.mpirun_ended = clock_boot();
    m->collect.doubted = m->collect.looked = false;
    if (!attempt_is_complete(&m->attempt))
        lease_ask(m);
    await(m, after_mpirun);
}

void reports_await_killed(struct master *m) {
    await(m, after_kill);
}

/* --- letting shims go ------------------------------------------------------------------------- */

/* Tells the host that the shim of RANK may exit. */
static void release(struct master *m, size_t host, unsigned rank) {
    json_t *order = message_new(MESSAGE_RELEASE);
    (void)json_object_set_new(order, "rank", json_integer(rank));
    master_send(m, host, order);
}

void reports_release_all(struct master *m) {
    for (size_t i = 0; i < m->attempt.report_count; i++)
        release(m, m->attempt.reports[i].host, m->attempt.reports[i].rank);
}

/* --- the end of the ranks that still run after a failure -------------------------------------- */

/* Ranks that SIGTERM did not end in time. */
static void kill_ranks(void *context) {
    struct master *m = context;
    master_send_all(m, message_new(MESSAGE_KILL));
    reports_await_killed(m);
}

/* Shims that have reported were held until now: mpirun ends ranks when one shim exits, and a
 * culprit that reports late would look like a victim. */
static void end_ranks(void *context) {
    struct master *m = context;
    attempt_end_ranks(&m->attempt);
    master_send_all(m, message_new(MESSAGE_END));
    reports_release_all(m);
    m->collect.end.fire = kill_ranks;
    loop_after(&m->s.loop, &m->collect.end, grace);
}

/* Every failure may bring the deadline nearer; only the first one gathers evidence and starts the
 * end of the ranks. */
void reports_gather(struct master *m) {
    await(m, after_failure);
    if (!attempt_fail(&m->attempt))
        return;
    standing_crashed(m);
    m->collect.end.fire = end_ranks;
    loop_after(&m->s.loop, &m->collect.end, gather);
}

/* --- words of hosts --------------------------------------------------------------------------- */

/* Raises ALL_STARTED with the last rank. The times in the log and in the event are from the launch,
 * in seconds. */
void reports_rank_started(struct member *b, const json_t *message) {
    struct master *m = b->master;
    int64_t rank = -1;
    if (json_member_int(message, "rank_started", "rank", &rank, NULL) != 0 ||
        !attempt_rank_started(&m->attempt, b->index, rank))
        return;
    double seconds = (double)(clock_now() - m->attempt.launched) / (double)CLOCK_SECOND;
    if (m->attempt.ranks == 1)
        log_info("the only rank has started, %.2f s after the launch", seconds);
    else
        log_info("all %zu ranks have started, %.2f s after the launch", m->attempt.ranks, seconds);
    event_log_put(
        &m->s.event_log, EVENT_LOG_RANKS_STARTED,
        json_pack("{s:I, s:f}", "ranks", (json_int_t)m->attempt.ranks, "seconds", seconds));
    accounting_started(m);
    master_raise(m, EVENT_ALL_STARTED);
}

/* mpirun's own result changes nothing. What it and its daemons would clean up are our own
 * directories, and processes that each host ends by itself, shims included. */
static void all_have_reported(struct master *m) {
    attempt_begin_end(&m->attempt);
    master_raise(m, EVENT_ALL_HEARD);
}

/* During a stop ranks end as they like: their reports are no failures. */
static bool is_failure(const struct attempt *a, const struct rank_report *r) {
    return rank_report_is_failure(r) && a->stop_asked == 0;
}

/* The event names the first report of a failure; the verdict may find another cause
 * (outcome/first_failure.h). */
static void record_failure(struct master *m, const struct rank_report *r) {
    char end[RANK_REPORT_END_SIZE];
    rank_report_describe(r, end, sizeof(end));
    event_log_put(&m->s.event_log, EVENT_LOG_FIRST_FAILURE,
                  json_pack("{s:s, s:I, s:o}", "which", supervisor_host_name(&m->s, r->host),
                            "rank", (json_int_t)r->rank, "text", event_schema_text(end)));
}

/* Says that the job continues without this rank, as a warning and as an event, with the evidence
 * that its host has sent. */
static void record_forgone(struct master *m, const struct rank_report *r) {
    char end[RANK_REPORT_END_SIZE];
    const struct attempt *a = &m->attempt;
    const char *name = supervisor_host_name(&m->s, r->host);
    rank_report_describe(r, end, sizeof(end));
    log_warning("%s rank %u: %s; the others go on, with %zu lost of %" PRId64
                " that may be (RINGMASTER_LOST_RANKS)",
                name, r->rank, end, a->forgone_count, a->may_lose);
    log_lines(LOG_WARNING, r->evidence);
    if (r->host != m->s.job->cluster.self) /* else they stand above */
        log_lines(LOG_WARNING, r->lines);
    event_log_put(&m->s.event_log, EVENT_LOG_RANK_LOST,
                  json_pack("{s:s, s:I, s:o, s:o, s:o, s:I}", "which", name, "rank",
                            (json_int_t)r->rank, "text", event_schema_text(end), "evidence",
                            event_schema_text(r->evidence), "lines", event_schema_text(r->lines),
                            "count", (json_int_t)a->forgone_count));
}

/* Lets a shim that has reported exit at once, with two exceptions: during a stop (attempt_holds),
 * and while reports of a failure, this one or an earlier one, are collected (end_ranks). */
static void weigh(struct master *m, const struct rank_report *r) {
    const bool failure = is_failure(&m->attempt, r);
    const bool forgone = failure && attempt_forgo(&m->attempt, r->rank);
    if (forgone)
        record_forgone(m, r);
    else if (failure && !m->attempt.failed)
        record_failure(m, r);
    if (attempt_is_complete(&m->attempt))
        all_have_reported(m);
    else if (failure && !forgone)
        master_raise(m, EVENT_FAILURE);
    else if (!attempt_holds(&m->attempt) && !m->attempt.gathering)
        release(m, r->host, r->rank);
}

/* ODD: this rank waits elsewhere than all others. The first stalled rank becomes the failure, after
 * evidence has been gathered (standing_fail). What the threads of later ones wait in is added to
 * it, until ATTEMPT_STALLED_MAX of them. */
static void call_stalled(struct master *m, size_t host, int64_t rank, int64_t seconds,
                         const char *states, bool odd) {
    char waits[RANK_REPORT_EVIDENCE_SIZE] = "";
    const char *name = supervisor_host_name(&m->s, (unsigned)host);
    if (states[0] != '\0' && m->attempt.stalled == 0)
        (void)snprintf(waits, sizeof(waits), "%sthreads: %s",
                       odd ? "it waits elsewhere than all others; its " : "", states);
    else if (states[0] != '\0')
        (void)snprintf(waits, sizeof(waits), "%s rank %" PRId64 ": %s", name, rank, states);
    enum attempt_stall stall = attempt_stall(&m->attempt, host, rank, waits, clock_boot());
    if (stall == ATTEMPT_STALL_NOTHING)
        return;
    log_error("%s rank %" PRId64 ": no progress for %" PRId64 " s%s%.512s", name, rank, seconds,
              states[0] != '\0' ? "; its threads: " : "", states);
    event_log_put(&m->s.event_log, EVENT_LOG_STALLED,
                  json_pack("{s:s, s:I, s:I, s:o}", "which", name, "rank", (json_int_t)rank,
                            "seconds", (json_int_t)seconds, "states", event_schema_text(states)));
    if (stall == ATTEMPT_STALL_FIRST)
        standing_fail(m);
}

/* Finds the rank that waits elsewhere than all others, by what their threads wait in. Warns of it
 * once until a rank works again; not if evidence has named one (standing.h). */
static struct stuck_finding find_odd(struct master *m) {
    struct attempt *a = &m->attempt;
    struct stuck_finding found = {.rank = -1, .other = -1};
    cleanup_free struct stuck_rank *ranks = calloc(a->ranks, sizeof(*ranks));
    for (size_t i = 0; ranks != NULL && i < a->ranks; i++)
        ranks[i] = (struct stuck_rank){.host = supervisor_host_name(&m->s, a->rank_host[i]),
                                       .ended = a->reported[i],
                                       .waits = a->quiet[i]};
    if (ranks == NULL || !stuck_find(ranks, a->ranks, &found) || a->odd_reported ||
        a->stuck[0] != '\0')
        return found;
    a->odd_reported = true;
    log_warning("all ranks are silent and idle, and %s", found.text);
    return found;
}

/* The job is ended only on request: a server may be idle for days. Called whenever a rank has
 * become quiet or has ended, as either may leave only quiet ones. Without a limit
 * (settings.idle_seconds) it only warns of the odd one. */
static void end_where_all_rest(struct master *m) {
    struct attempt *a = &m->attempt;
    const int64_t limit = m->s.job->settings.idle_seconds;
    const int64_t first = attempt_all_quiet(a);
    if (first < 0 || a->stalled != 0 || a->failed)
        return;
    const struct stuck_finding odd = find_odd(m);
    const int64_t rank = odd.rank >= 0 ? odd.rank : first;
    if (limit == 0)
        return;
    log_error("all ranks are silent and idle, so that none can be waiting for another");
    call_stalled(m, a->rank_host[rank], rank, limit, a->quiet[rank], odd.rank >= 0);
    if (odd.rank >= 0) /* where all others wait */
        call_stalled(m, a->rank_host[odd.other], odd.other, limit, a->quiet[odd.other], false);
}

/* A report that cannot be parsed, or that is about another host's rank, is logged and otherwise
 * ignored. */
void reports_report(struct member *b, const json_t *message) {
    struct master *m = b->master;
    struct rank_report r;
    struct error err = {0};
    if (rank_report_parse(message, (unsigned)m->attempt.ranks, (unsigned)m->s.job->cluster.count,
                          &r, &err) != 0) {
        log_warning("%s: %s", member_name(b), err.text);
        return;
    }
    if (!attempt_is_rank_of(&m->attempt, b->index, r.rank)) {
        log_warning("%s: a report about rank %u, which is not its own, is ignored", member_name(b),
                    r.rank);
        return;
    }
    r.host = (unsigned)b->index;
    /* Times of the host become times of this one, so that reports of several hosts can be put in
     * order. */
    r.time -= b->offset;
    r.raised -= r.raised != 0 ? b->offset : 0;
    if (attempt_report(&m->attempt, &r)) {
        weigh(m, &r);
        end_where_all_rest(m);
    }
}

void reports_stalled(struct member *b, const json_t *message) {
    int64_t rank = -1;
    int64_t seconds = 0;
    const char *states = "";
    (void)json_member_string(message, "stalled", "states", &states, NULL);
    if (json_member_int(message, "stalled", "rank", &rank, NULL) == 0 &&
        json_member_int(message, "stalled", "seconds", &seconds, NULL) == 0)
        call_stalled(b->master, b->index, rank, seconds, states, false);
}

/* B's word on one of its ranks; a rank of another host is ignored by attempt_quiet(). */
void reports_quiet(struct member *b, const json_t *message, bool is_quiet) {
    int64_t rank = -1;
    const char *states = "";
    (void)json_member_string(message, "quiet", "states", &states, NULL);
    if (json_member_int(message, "quiet", "rank", &rank, NULL) != 0)
        return;
    attempt_quiet(&b->master->attempt, b->index, rank, is_quiet ? states : NULL);
    end_where_all_rest(b->master);
}

void reports_init(struct master *m) {
    m->collect.deadline = (struct timer){.fire = deadline_passed, .context = m};
    m->collect.end = (struct timer){.fire = end_ranks, .context = m};
}

void reports_close(struct master *m) {
    loop_cancel(&m->s.loop, &m->collect.deadline);
    loop_cancel(&m->s.loop, &m->collect.end);
    m->collect.mpirun_ended = m->collect.began = 0;
}
