#include "entrypoint/master/standing.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "entrypoint/evidence/gather_order.h"
#include "entrypoint/evidence/stuck.h"
#include "entrypoint/host/ranks/rank_stillness.h"
#include "entrypoint/wire/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every answer to a heartbeat says for how long the ranks of its host have stood still. The
 * shortest of these times over all hosts goes to the rule in evidence/standstill.c, which says
 * whether that is a suspicion (look_at). If it is, all hosts gather evidence, and conclude()
 * compares what their ranks wait in.
 *
 * The result is a warning in the log, an event, and a note in the attempt, which a later verdict
 * quotes. The job is ended only where the user has set a limit (standing_lasts).
 *
 * reports.c starts the same search for a stalled rank, and a quick one at the first failure;
 * ras_finding.c adds what NCCL says. Only one question is open at a time. Answers carry its number,
 * so that a late one is not taken for an answer to the next. */

/* Looks come with heartbeats, of which several come in that time; a single host has none. */
enum { LOOK_SECONDS = 2, ALONE_SECONDS = 3, CRASH_MS = 1000 };
/* An older answer says nothing about now. */
static const int64_t fresh = 8 * CLOCK_SECOND;
/* More than the hosts have, which kill what is late. */
static const int64_t patience = (GATHER_ORDER_SECONDS + 2) * CLOCK_SECOND;

/* A suspicion makes sense only while all ranks run and nothing has begun to end them. */
static bool is_wanted(const struct master *m) {
    const struct attempt *a = &m->attempt;
    return m->s.job->settings.evidence && m->phase == PHASE_RUNNING && attempt_all_started(a) &&
           !a->failed && !a->ending && a->stop_asked == 0;
}

/* --- evidence --------------------------------------------------------------------------------- */

/* Drops the question that is open, if any; hosts may still answer it, and are ignored. */
static void forget(struct master *m) {
    loop_cancel(&m->s.loop, &m->standing.deadline);
    free(m->standing.ranks);
    m->standing.ranks = NULL;
    m->standing.waiting = 0;
}

/* Keeps the finding for the verdict, and its rank for standing_lasts(), which blames that one. */
static void note(struct master *m, const struct stuck_finding *f) {
    attempt_note_stuck(&m->attempt, f->text);
    m->standing.rank = f->rank;
    log_warning("the job stands still: %s", f->text);
    event_log_put(
        &m->s.event_log, EVENT_LOG_STUCK,
        json_pack("{s:I, s:o}", "rank", (json_int_t)f->rank, "text", event_schema_text(f->text)));
}

/* Compares what was gathered, with all answers or at the deadline. Ranks that have reported
 * meanwhile count as ended. A finding of NCCL's stays as it is. If the question came from a stall,
 * FAILURE follows now. */
static void conclude(struct master *m) {
    struct stuck_finding finding;
    const struct attempt *a = &m->attempt;
    for (size_t i = 0; i < a->ranks; i++) {
        m->standing.ranks[i].ended = a->reported[i];
        m->standing.ranks[i].waits = a->quiet[i];
    }
    if (m->standing.is_reported)
        log_debug("what was found stays as it is");
    else if (stuck_find(m->standing.ranks, a->ranks, &finding))
        note(m, &finding);
    else
        log_info("the job stands still, and nothing sets some ranks apart");
    forget(m);
    if (m->standing.fails)
        master_raise(m, EVENT_FAILURE);
}

static void time_is_over(void *context) {
    conclude(context);
}

/* Returns false if evidence cannot be gathered. A question that is open already serves this caller,
 * too. Hosts are asked that are not lost and have ranks without a report. */
static bool ask(struct master *m) {
    const struct attempt *a = &m->attempt;
    if (m->standing.ranks != NULL)
        return true;
    m->standing.ranks = calloc(a->ranks, sizeof(*m->standing.ranks));
    if (m->standing.ranks == NULL)
        return false;
    m->standing.number++;
    for (size_t i = 0; i < a->ranks; i++)
        m->standing.ranks[i].host = supervisor_host_name(&m->s, a->rank_host[i]);
    for (size_t i = 0; i < a->hosts; i++) {
        m->members[i].gathers = attempt_misses(a, i) && !a->lost[i];
        if (!m->members[i].gathers)
            continue;
        m->standing.waiting++;
        master_send(m, i,
                    message_with(MESSAGE_GATHER,
                                 json_pack("{s:I, s:b}", "number", (json_int_t)m->standing.number,
                                           "job", (int)(i == 0))));
    }
    loop_after(&m->s.loop, &m->standing.deadline, patience);
    return true;
}

/* If evidence is gathered, conclude() raises FAILURE: ranks that are ended first would have nothing
 * to show. */
void standing_fail(struct master *m) {
    bool asks = m->s.job->settings.evidence && ask(m);
    m->standing.fails = asks;
    if (!asks)
        master_raise(m, EVENT_FAILURE);
}

/* A spare has none. */
static bool has_ranks(const struct attempt *a, size_t host) {
    for (size_t i = 0; i < a->ranks; i++)
        if (a->rank_host[i] == host)
            return true;
    return false;
}

/* The host of the rank that has failed is asked, too: its memory and its GPUs may be why. */
void standing_crashed(struct master *m) {
    const struct attempt *a = &m->attempt;
    if (!m->s.job->settings.evidence || m->standing.ranks != NULL || a->stalled != 0)
        return; /* or it has been gathered already */
    m->standing.crash = ++m->standing.number;
    for (size_t i = 0; i < a->hosts; i++)
        if (has_ranks(a, i) && !a->lost[i])
            master_send(m, i,
                        message_with(MESSAGE_GATHER,
                                     json_pack("{s:I, s:b, s:b, s:I}", "number",
                                               (json_int_t)m->standing.crash, "job", 0, "quick", 1,
                                               "milliseconds", (json_int_t)CRASH_MS)));
}

/* The reading of a rank of B that B's host sends. */
struct answered_rank {
    int64_t rank;
    const char *collective;
    const char *place;
    const char *exception;
    int64_t raised; /* ms ago */
};

/* Returns false for a reading that lacks a member, has one of the wrong type or out of range, or is
 * about another host's rank. */
static bool read_rank(const struct member *b, const json_t *item, struct answered_rank *ret) {
    *ret = (struct answered_rank){.rank = -1, .collective = "", .place = "", .exception = ""};
    return json_member_int(item, "gathered", "rank", &ret->rank, NULL) == 0 &&
           json_member_string(item, "gathered", "collective", &ret->collective, NULL) == 0 &&
           json_member_string(item, "gathered", "place", &ret->place, NULL) == 0 &&
           json_member_string(item, "gathered", "exception", &ret->exception, NULL) == 0 &&
           json_member_int(item, "gathered", "raised", &ret->raised, NULL) == 0 &&
           ret->raised >= 0 && ret->raised < INT64_MAX / CLOCK_SECOND &&
           attempt_is_rank_of(&b->master->attempt, b->index, ret->rank);
}

/* All text is cut to its place first and cleaned then: it comes from another host, and goes to the
 * log. */
static void take_rank(struct member *b, const json_t *item) {
    struct master *m = b->master;
    struct answered_rank answer;
    if (!read_rank(b, item, &answer))
        return;
    struct stuck_rank *r = &m->standing.ranks[answer.rank];
    char clean[STUCK_EXCEPTION_SIZE];
    r->known = true;
    (void)snprintf(clean, sizeof(r->at.place), "%s", answer.place);
    rank_report_clean(clean, r->at.place, sizeof(r->at.place));
    (void)snprintf(clean, sizeof(r->at.collective), "%s", answer.collective);
    rank_report_clean(clean, r->at.collective, sizeof(r->at.collective));
    (void)snprintf(clean, sizeof(clean), "%s", answer.exception);
    rank_report_clean(clean, r->exception, sizeof(r->exception));
}

/* Goes straight into the attempt, without a question to wait for: places of ranks, and exceptions
 * that were printed before the failure. */
static void take_crash(struct member *b, const json_t *ranks) {
    struct answered_rank answer;
    for (size_t i = 0; i < json_array_size(ranks); i++)
        if (read_rank(b, json_array_get(ranks, i), &answer)) {
            const char *host = supervisor_host_name(&b->master->s, b->index);
            attempt_note_place(&b->master->attempt, (unsigned)answer.rank, host, answer.place);
            attempt_note_exception(&b->master->attempt, (unsigned)answer.rank, host,
                                   answer.exception,
                                   clock_boot() - answer.raised * CLOCK_MILLISECOND);
        }
}

/* One message may answer a question at a failure or one about a standstill; the number says which.
 */
void standing_gathered(struct member *b, const json_t *message) {
    struct master *m = b->master;
    const json_t *ranks = json_object_get(message, "ranks");
    if (m->standing.crash > 0 &&
        json_integer_value(json_object_get(message, "number")) == m->standing.crash)
        take_crash(b, ranks);
    if (m->standing.ranks == NULL || !b->gathers ||
        json_integer_value(json_object_get(message, "number")) != m->standing.number)
        return;
    for (size_t i = 0; i < json_array_size(ranks); i++)
        take_rank(b, json_array_get(ranks, i));
    b->gathers = false;
    if (--m->standing.waiting == 0)
        conclude(m);
}

/* --- when ------------------------------------------------------------------------------------- */

/* An answer without a time, or of another attempt, changes nothing. Times that would overflow as ns
 * count as 0, which suspects nothing. */
void standing_receive(struct member *b, const json_t *alive) {
    int64_t still = -1;
    if (json_member_int(alive, "alive", "still", &still, NULL) != 0 || still < 0 ||
        json_integer_value(json_object_get(alive, "attempt")) != b->master->attempt.number)
        return;
    b->standing.heard = clock_now();
    b->standing.still = still < INT64_MAX / CLOCK_SECOND ? still * CLOCK_MILLISECOND : 0;
    b->standing.busy = !json_is_false(json_object_get(alive, "busy"));
}

/* The same for this host, which gets no heartbeat. */
static void look_at_own(struct master *m, int64_t now) {
    struct rank_stillness own = rank_stillness_look(&m->s.host.rank_set, now);
    /* A host's own word is never older than this look. */
    m->members[0].standing.heard = now;
    m->members[0].standing.still = own.still;
    m->members[0].standing.busy = own.busy;
}

/* Returns for how long all ranks have stood still; -1 if that is not known. */
static int64_t stillness(const struct master *m, int64_t now, bool *ret_busy) {
    int64_t still = -1;
    *ret_busy = false;
    for (size_t i = 0; i < m->attempt.hosts; i++) {
        const struct member *b = &m->members[i];
        if (!attempt_misses(&m->attempt, i))
            continue;
        if (b->standing.still < 0 || b->standing.heard == 0 || now - b->standing.heard > fresh)
            return -1;
        /* The time since the answer is added, as nothing is known of progress since. */
        int64_t own = b->standing.still + (now - b->standing.heard);
        if (still < 0 || own < still)
            still = own;
        *ret_busy |= b->standing.busy;
    }
    return still;
}

/* Needs a limit that the user has set, and a finding that names a rank. The stall is recorded as
 * that rank's, so that the verdict tells of it like of any other stalled rank. */
void standing_lasts(struct master *m, int64_t still) {
    const struct settings *s = &m->s.job->settings;
    int rank = m->standing.rank;
    if (rank < 0 || !s->stall_is_set || s->stall_seconds == 0 || m->attempt.stalled != 0 ||
        still < s->stall_seconds * CLOCK_SECOND)
        return;
    size_t host = m->attempt.rank_host[rank];
    log_error("%s rank %d: the job has stood still for %lld s", supervisor_host_name(&m->s, host),
              rank, (long long)s->stall_seconds);
    if (attempt_stall(&m->attempt, host, rank, "", clock_boot()) == ATTEMPT_STALL_FIRST)
        master_raise(m, EVENT_FAILURE);
}

/* Does nothing if ranks are ending already. The evidence that is gathered does not change the
 * finding. */
void standing_found(struct master *m, const struct stuck_finding *f) {
    if (!is_wanted(m))
        return;
    note(m, f);
    m->standing.is_reported = true;
    (void)ask(m);
}

void standing_goes_on(struct master *m) {
    if (m->standing.rank == STANDING_NOBODY)
        return;
    log_info("the job goes on");
    m->standing.rank = STANDING_NOBODY;
    m->standing.is_reported = false;
    attempt_note_stuck(&m->attempt, "");
}

/* Silence that ends by itself takes a finding back, unless it is NCCL's: that one lasts until
 * ras_child.c says otherwise. */
static void look_at(struct master *m, int64_t now) {
    bool busy = false;
    bool moved = false;
    look_at_own(m, now);
    int64_t still = stillness(m, now, &busy);
    if (still < 0)
        return;
    bool suspect = standstill_look(&m->standing.rule, now, still, busy, &moved);
    if (moved && !m->standing.is_reported)
        standing_goes_on(m);
    if (suspect) {
        log_info("no rank has printed anything or made progress for %lld s%s: gathering evidence",
                 (long long)(still / CLOCK_SECOND), busy ? "" : ", and none uses a processor");
        (void)ask(m);
    }
    if (!m->standing.is_reported)
        standing_lasts(m, still);
}

/* The timer may fire earlier, together with another one (loop_within). */
static void look_again(struct master *m) {
    int64_t seconds = m->s.job->cluster.count > 1 ? LOOK_SECONDS : ALONE_SECONDS;
    loop_within(&m->s.loop, &m->standing.look, seconds * CLOCK_SECOND);
}

/* The timer continues through all phases; only what it looks at depends on them. */
static void look(void *context) {
    struct master *m = context;
    if (is_wanted(m))
        look_at(m, clock_now());
    look_again(m);
}

/* Words of hosts that were heard in the attempt before say nothing about the next one. */
void standing_reset(struct master *m) {
    forget(m);
    m->standing.rule = (struct standstill){0};
    m->standing.rank = STANDING_NOBODY;
    m->standing.fails = m->standing.is_reported = false;
    m->standing.crash = 0;
    for (size_t i = 0; m->members != NULL && i < m->s.job->cluster.count; i++)
        m->members[i].standing.heard = 0;
}

/* The only rank of a job waits for no other. */
void standing_open(struct master *m) {
    m->standing.look = (struct timer){.fire = look, .context = m};
    m->standing.deadline = (struct timer){.fire = time_is_over, .context = m};
    standing_reset(m);
    if (m->s.job->settings.evidence && cluster_ranks(&m->s.job->cluster) > 1)
        look_again(m);
}

void standing_close(struct master *m) {
    loop_cancel(&m->s.loop, &m->standing.look);
    forget(m);
}
