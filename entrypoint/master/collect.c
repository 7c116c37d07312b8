#include "common/buf.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "master/master.h"
#include "wire/frame.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

static const int64_t after_failure = 10 * CLOCK_SECOND; /* at the latest */
static const int64_t gather = 300 * CLOCK_MILLISECOND;  /* the first to report is often a victim */
static const int64_t grace = 500 * CLOCK_MILLISECOND;   /* from SIGTERM to SIGKILL */
static const int64_t after_kill = CLOCK_SECOND;         /* and from that to the verdict */
static const int64_t after_loss = CLOCK_SECOND / 2;     /* nothing outranks a lost host */
static const int64_t after_success = 5 * CLOCK_SECOND;  /* mpirun may hang on very short programs */
static const int64_t after_mpirun = CLOCK_SECOND;       /* last reports are under way */

/* With hosts' names in place of their addresses. */
enum { MPIRUN_WORDS_MAX = 64 * 1024 };

int collect_open(struct master *m, struct error *err) {
    m->attempt.ranks = cluster_ranks(&m->s.job->cluster);
    m->attempt.reports = calloc(m->attempt.ranks, sizeof(*m->attempt.reports));
    m->attempt.reported = calloc(m->attempt.ranks, sizeof(*m->attempt.reported));
    m->attempt.seated = calloc(m->attempt.ranks, sizeof(*m->attempt.seated));
    m->attempt.losses = calloc(m->s.job->cluster.count, sizeof(*m->attempt.losses));
    if (m->attempt.reports == NULL || m->attempt.reported == NULL || m->attempt.seated == NULL ||
        m->attempt.losses == NULL)
        return error_no_memory(err, "reports");
    return 0;
}

void collect_close(struct master *m) {
    loop_cancel(&m->s.loop, &m->attempt.collect);
    loop_cancel(&m->s.loop, &m->attempt.end);
    free(m->attempt.reports);
    free(m->attempt.reported);
    free(m->attempt.seated);
    for (size_t i = 0; i < m->attempt.loss_count; i++)
        free((char *)(uintptr_t)m->attempt.losses[i].why);
    free(m->attempt.losses);
}

static void time_is_up(void *context) {
    collect_judge(context);
}

void collect_begin(struct master *m, int64_t nanoseconds) {
    int64_t deadline = clock_now() + nanoseconds;
    if (m->phase != MASTER_RUNNING ||
        (m->attempt.collect.active && m->attempt.collect.deadline <= deadline))
        return;
    m->attempt.collect.fire = time_is_up;
    m->attempt.collect.context = m;
    loop_at(&m->s.loop, &m->attempt.collect, deadline);
}

/* --- the end of the ranks that still run after a failure -------------------------------------- */

static void kill_ranks(void *context) {
    struct master *m = context;
    if (m->phase != MASTER_RUNNING)
        return;
    master_send_all(m, frame_new("kill"));
    collect_begin(m, after_kill);
}

/* Shims that have reported were held until now: mpirun begins to end ranks when one leaves, and a
 * culprit whose report is late would look like one of those. */
static void end_ranks(void *context) {
    struct master *m = context;
    if (m->phase != MASTER_RUNNING)
        return;
    m->attempt.gathering = false;
    master_send_all(m, frame_new("end"));
    collect_release_all(m);
    m->attempt.end.fire = kill_ranks;
    loop_after(&m->s.loop, &m->attempt.end, grace);
}

void collect_failed(struct master *m) {
    collect_begin(m, after_failure);
    if (m->phase != MASTER_RUNNING || m->attempt.failed)
        return;
    m->attempt.failed = true;
    m->attempt.gathering = true;
    m->attempt.end = (struct timer){.fire = end_ranks, .context = m};
    loop_after(&m->s.loop, &m->attempt.end, gather);
}

/* Nothing more will be heard. */
static bool is_complete(const struct master *m) {
    for (size_t i = 0; i < m->attempt.ranks; i++)
        if (!m->attempt.reported[i] &&
            !m->members[cluster_host_of_rank(&m->s.job->cluster, i)].lost)
            return false;
    return true;
}

static void judge_if_complete(struct master *m) {
    if (m->attempt.mpirun_ended && is_complete(m))
        collect_judge(m);
}

static void release(struct master *m, size_t host, unsigned rank) {
    json_t *order = frame_new("release");
    (void)json_object_set_new(order, "rank", json_integer(rank));
    master_send(m, host, order);
}

void collect_release_all(struct master *m) {
    for (size_t i = 0; i < m->attempt.report_count; i++)
        release(m, m->attempt.reports[i].host, m->attempt.reports[i].rank);
}

/* A rank is the host's on which it was placed: no other one has a word about it. */
static bool is_rank_of(const struct member *b, int64_t rank) {
    const struct master *m = b->master;
    return rank >= 0 && (uint64_t)rank < m->attempt.ranks &&
           cluster_host_of_rank(&m->s.job->cluster, (size_t)rank) == b->index;
}

void collect_seated(struct member *b, const json_t *message) {
    struct master *m = b->master;
    int64_t rank = -1;
    if (json_member_int(message, "seated", "rank", &rank, NULL) != 0 || !is_rank_of(b, rank) ||
        m->attempt.seated[rank])
        return;
    m->attempt.seated[rank] = true;
    m->attempt.seated_count++;
    if (m->attempt.seated_count < m->attempt.ranks)
        return;
    log_info("all %zu ranks have started, %.2f s after the launch", m->attempt.ranks,
             (double)(clock_now() - m->attempt.launched) / (double)CLOCK_SECOND);
    stop_seats_taken(m);
}

static bool is_good(const struct rank_report *r) {
    return r->end == RANK_EXITED && r->value == 0;
}

/* All reports are here. After a failure mpirun would only spend seconds on ranks that are gone. */
static void weigh_all(struct master *m) {
    collect_release_all(m);
    collect_begin(m, after_success);
    for (size_t i = 0; i < m->attempt.report_count; i++)
        if (!is_good(&m->attempt.reports[i])) {
            collect_judge(m);
            return;
        }
    judge_if_complete(m);
}

static void weigh(struct master *m, const struct rank_report *r) {
    if (!is_good(r) && r->cause == RANK_CAUSE_NONE && m->attempt.stop_asked == 0)
        collect_failed(m);
    if (is_complete(m))
        weigh_all(m);
    else if (!stop_holds(m) && !m->attempt.gathering)
        release(m, r->host, r->rank);
}

/* Of two reports about one rank a failure counts more than an end that was good. */
static bool add_report(struct attempt *a, const struct rank_report *r) {
    size_t at = 0;
    while (at < a->report_count && a->reports[at].rank != r->rank)
        at++;
    if (at < a->report_count && (is_good(r) || !is_good(&a->reports[at])))
        return false;
    a->reports[at] = *r;
    a->report_count += at == a->report_count;
    a->reported[r->rank] = true;
    return true;
}

void collect_report(struct member *b, const json_t *message) {
    struct master *m = b->master;
    struct rank_report r;
    struct error err = {0};
    if (rank_report_parse(message, (unsigned)m->attempt.ranks, (unsigned)m->s.job->cluster.count,
                          &r, &err) != 0) {
        log_warning("%s: %s", supervisor_host_name(&m->s, b->index), err.text);
        return;
    }
    if (!is_rank_of(b, r.rank)) {
        log_warning("%s: a report about rank %u, which is not its own, is left alone",
                    supervisor_host_name(&m->s, b->index), r.rank);
        return;
    }
    r.host = (unsigned)b->index;
    r.time -= b->offset;
    if (add_report(&m->attempt, &r))
        weigh(m, &r);
}

void collect_host_lost(struct master *m) {
    collect_begin(m, after_loss);
    judge_if_complete(m);
}

void collect_stalled(struct member *b, const json_t *message) {
    struct master *m = b->master;
    int64_t rank = 0;
    int64_t seconds = 0;
    if (m->attempt.stalled != 0 || json_member_int(message, "stalled", "rank", &rank, NULL) != 0 ||
        json_member_int(message, "stalled", "seconds", &seconds, NULL) != 0 || !is_rank_of(b, rank))
        return;
    m->attempt.stalled = clock_boot();
    m->attempt.stalled_rank = (unsigned)rank;
    m->attempt.stalled_host = (unsigned)b->index;
    log_error("%s rank %" PRId64 ": no progress for %" PRId64 " s",
              supervisor_host_name(&m->s, b->index), rank, seconds);
    collect_failed(m);
}

void collect_mpirun_ended(struct master *m) {
    collect_begin(m, after_mpirun);
    judge_if_complete(m);
}

void collect_judge(struct master *m) {
    struct verdict verdict;
    cleanup_buf struct buf words;
    buf_init(&words, MPIRUN_WORDS_MAX);
    launch_words(m, &words);
    const struct verdict_facts facts = {.cluster = &m->s.job->cluster,
                                        .reports = m->attempt.reports,
                                        .report_count = m->attempt.report_count,
                                        .losses = m->attempt.losses,
                                        .loss_count = m->attempt.loss_count,
                                        .stop_asked = m->attempt.stop_asked,
                                        .stop_host = m->attempt.stop_host,
                                        .stalled = m->attempt.stalled,
                                        .stalled_rank = m->attempt.stalled_rank,
                                        .stalled_host = m->attempt.stalled_host,
                                        .mpirun_code =
                                            m->attempt.mpirun_ended ? m->attempt.mpirun_code : -1,
                                        .daemon_words = m->attempt.daemon_note,
                                        .mpirun_words = buf_text(&words)};
    if (m->phase == MASTER_JUDGED)
        return;
    verdict_judge(&facts, &verdict);
    relaunch_weigh(m, &verdict);
}

void collect_conclude(struct master *m, const struct verdict *verdict) {
    if (m->phase == MASTER_JUDGED)
        return;
    m->phase = MASTER_JUDGED;
    loop_cancel(&m->s.loop, &m->attempt.collect);
    loop_cancel(&m->s.loop, &m->attempt.end);
    if (verdict->code != EXIT_CODE_OK)
        launch_signal(m, SIGKILL); /* it would spend seconds on ranks that are gone */
    json_t *message = frame_new("verdict");
    json_t *members = verdict_json(verdict);
    (void)json_object_update(message, members);
    json_decref(members);
    for (size_t i = 1; i < m->s.job->cluster.count; i++)
        master_send(m, i, json_incref(message));
    json_decref(message);
    master_flush(m); /* before anything else that takes time */
    supervisor_conclude(&m->s, verdict);
}
