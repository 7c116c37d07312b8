#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "master/master.h"
#include "outcome/restart.h"
#include "wire/frame.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* For every host to end what the failed attempt left and to say that it is ready again. */
enum { CLEAR_SECONDS = 30 };

static const struct settings *settings(const struct master *m) {
    return &m->s.job->settings;
}

static size_t hosts_left(const struct master *m) {
    size_t left = 0;
    for (size_t i = 0; i < m->s.job->cluster.count; i++)
        left += !m->members[i].lost;
    return left;
}

/* The end of the job, in words that say which attempt it was. */
static void conclude(struct master *m, struct verdict *verdict, unsigned attempt, const char *why) {
    restart_tell(settings(m), attempt, why, verdict);
    collect_conclude(m, verdict);
}

/* The end of the job between two attempts; what the last one came to is its story. */
static void conclude_at(struct master *m, const struct error *error, size_t host, unsigned attempt,
                        const char *why) {
    struct verdict verdict;
    verdict_from_error(error, &m->s.job->cluster, (int)host, &verdict);
    (void)snprintf(verdict.story, sizeof(verdict.story), "after %s: %s", m->failed.class_name,
                   m->failed.text);
    conclude(m, &verdict, attempt, why);
}

static void conclude_between(struct master *m, const struct error *error, size_t host,
                             const char *why) {
    conclude_at(m, error, host, m->attempt.number - 1, why);
}

/* --- the old attempt ------------------------------------------------------------------------- */

/* Nothing of the old attempt stays but its number plus one. */
static void forget(struct master *m) {
    unsigned next = m->attempt.number + 1;
    m->s.host.quiet = true; /* mpirun's farewell is noise */
    launch_signal(m, SIGKILL);
    launch_close(m);
    stop_close(m);
    collect_close(m);
    m->attempt = (struct attempt){.number = next};
}

static void begin(struct master *m, const struct verdict *verdict) {
    int64_t pause = restart_pause(m->attempt.number);
    log_error("%s: %s", verdict->class_name, verdict->text);
    log_info("attempt %u of %lld has failed; another one begins in %lld s", m->attempt.number,
             (long long)settings(m)->restarts + 1, (long long)(pause / CLOCK_SECOND));
    m->failed = *verdict;
    m->phase = MASTER_CLEARING;
    forget(m);
    master_send_all(m, frame_new("clear"));
    loop_after(&m->s.loop, &m->pause, pause);
    loop_after(&m->s.loop, &m->clear_deadline, CLEAR_SECONDS * CLOCK_SECOND);
}

void relaunch_weigh(struct master *m, const struct verdict *verdict) {
    char why[RESTART_WHY_SIZE] = "";
    struct verdict v = *verdict;
    struct error stopped = {0};
    const struct restart_facts facts = {.verdict = verdict,
                                        .attempt = m->attempt.number,
                                        .hosts_left = hosts_left(m),
                                        .host_lost = m->attempt.loss_count > 0};
    if (m->phase != MASTER_RUNNING) {
        collect_conclude(m, verdict);
    } else if (v.code == EXIT_CODE_OK || !restart_follows(settings(m), &facts, why)) {
        conclude(m, &v, m->attempt.number, why);
    } else if (m->attempt.stop_asked != 0 || m->attempt.stop_late) {
        size_t host = m->attempt.stop_host;
        m->failed = v;
        m->attempt.number++;
        (void)error_set(&stopped, EXIT_CODE_STOPPED, "stopped on request after a failure");
        conclude_between(m, &stopped, host, "");
    } else {
        begin(m, verdict);
    }
}

/* --- the new one ----------------------------------------------------------------------------- */

static bool all_clear(const struct master *m) {
    for (size_t i = 0; i < m->s.job->cluster.count; i++)
        if (!m->members[i].lost && m->members[i].cleared != m->attempt.number)
            return false;
    return true;
}

/* Drops lost hosts here and lists them for the others. Our own host is told at once, not by post:
 * its ranks may come before the post does. */
static void tell_attempt(struct master *m) {
    json_t *order = frame_new("attempt");
    json_t *gone = json_array();
    for (size_t i = 0; i < m->s.job->cluster.count; i++)
        if (m->members[i].lost) {
            cluster_drop(&m->s.job->cluster, i);
            (void)json_array_append_new(gone, json_integer((json_int_t)i));
        }
    (void)json_object_set_new(order, "gone", gone);
    (void)json_object_set_new(order, "attempt", json_integer(m->attempt.number));
    host_order(&m->s.host, order);
    for (size_t i = 1; i < m->s.job->cluster.count; i++)
        master_send(m, i, json_incref(order));
    json_decref(order);
}

static void go_on_if_ready(struct master *m) {
    struct error err = {0};
    if (m->phase != MASTER_CLEARING || m->pause.active || !all_clear(m))
        return;
    loop_cancel(&m->s.loop, &m->clear_deadline);
    tell_attempt(m);
    if (collect_open(m, &err) == 0 && launch_begin(m, &err) == 0)
        return;
    conclude_at(m, &err, 0, m->attempt.number, "");
}

static void pause_over(void *context) {
    go_on_if_ready(context);
}

/* A host that is not ready is as good as lost. Where the others go on, it learns of it by its
 * link's end. */
static void unfit(struct member *b, const char *why) {
    lease_lost(b, why);
    if (b->master->phase == MASTER_JUDGED)
        return; /* it hears the verdict like the others */
    link_free(b->link);
    b->link = NULL;
}

static void time_is_up(void *context) {
    struct master *m = context;
    for (size_t i = 0; i < m->s.job->cluster.count && m->phase == MASTER_CLEARING; i++)
        if (!m->members[i].lost && m->members[i].cleared != m->attempt.number)
            unfit(&m->members[i], "it did not end the last attempt's processes in time");
}

void relaunch_cleared(struct member *b, const json_t *message) {
    struct master *m = b->master;
    const char *fault = NULL;
    (void)json_member_string(message, "cleared", "fault", &fault, NULL);
    if (m->phase != MASTER_CLEARING || b->lost)
        return;
    if (fault != NULL) {
        unfit(b, fault);
        return;
    }
    b->cleared = m->attempt.number;
    go_on_if_ready(m);
}

/* --- what comes between ---------------------------------------------------------------------- */

void relaunch_lost(struct member *b, const char *why) {
    struct master *m = b->master;
    char refusal[RESTART_WHY_SIZE];
    struct error err = {0};
    const struct restart_facts facts = {.verdict = &m->failed,
                                        .attempt = m->attempt.number - 1,
                                        .hosts_left = hosts_left(m),
                                        .host_lost = true};
    if (b->index > 0 && restart_follows(settings(m), &facts, refusal)) {
        go_on_if_ready(m);
        return;
    }
    (void)error_set(&err, EXIT_CODE_HOST_LOST, "lost between two attempts: %s", why);
    conclude_between(m, &err, b->index, b->index > 0 ? refusal : "");
}

void relaunch_stopped(struct master *m, size_t host) {
    struct error err = {0};
    (void)error_set(&err, EXIT_CODE_STOPPED, "stopped on request between two attempts");
    conclude_between(m, &err, host, "");
}

void relaunch_init(struct master *m) {
    m->attempt.number = 1;
    m->pause = (struct timer){.fire = pause_over, .context = m};
    m->clear_deadline = (struct timer){.fire = time_is_up, .context = m};
}

void relaunch_close(struct master *m) {
    loop_cancel(&m->s.loop, &m->pause);
    loop_cancel(&m->s.loop, &m->clear_deadline);
}
