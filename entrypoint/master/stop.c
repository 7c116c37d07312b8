#include "entrypoint/master/stop.h"

#include "common/clock.h"
#include "common/log/log.h"
#include "common/signal_name.h"
#include "entrypoint/master/uploads.h"
#include "entrypoint/wire/message.h"

/* How long a stop waits for ranks that have not started yet: a program that gets SIGTERM before it
 * handles it dies, and one that gets none would train on. */
static const int64_t hold_longest = 10 * CLOCK_SECOND;

static void budget_spent(void *context) {
    master_raise(context, EVENT_BUDGET_SPENT);
}

static void hold_spent(void *context) {
    master_raise(context, EVENT_HOLD_SPENT);
}

static int64_t budget(const struct master *m) {
    return uploads_stop_budget(m);
}

void stop_note(struct master *m, size_t host) {
    attempt_stop(&m->attempt, host, clock_boot());
    event_log_put(&m->s.event_log, EVENT_LOG_STOP,
                  json_pack("{s:s, s:b}", "which", supervisor_host_name(&m->s, host), "again", 0));
    log_info("stopping on request of %s, within %lld s", supervisor_host_name(&m->s, host),
             (long long)(budget(m) / CLOCK_SECOND));
}

/* One budget covers everything, waiting included: the sender of the request has a single deadline
 * (SageMaker 120 s, docker 10 s), which runs from the request. At most half of it goes into waiting
 * for ranks to start, as running ranks need the rest for a checkpoint. */
void stop_begin(struct master *m) {
    int64_t all = budget(m);
    loop_after(&m->s.loop, &m->stop.budget, all);
    if (attempt_all_started(&m->attempt))
        stop_send(m);
    else
        loop_after(&m->s.loop, &m->stop.hold, all / 2 < hold_longest ? all / 2 : hold_longest);
}

static void send_stop_signal(struct master *m) {
    int number = m->s.job->settings.stop_signal;
    loop_cancel(&m->s.loop, &m->stop.warned);
    attempt_stop_signal(&m->attempt, number);
    master_send_all(m, message_with(MESSAGE_STOP, json_pack("{s:i}", "number", number)));
}

static void warning_over(void *context) {
    send_stop_signal(context);
}

/* Warns the ranks of this attempt, once. Returns false if there is no such signal, or if they have
 * been warned before. */
static bool warn(struct master *m, bool stops) {
    int number = m->s.job->settings.warning.number;
    if (number == 0 || !attempt_warn(&m->attempt, number))
        return false;
    master_send_all(m, message_with(MESSAGE_WARN, json_pack("{s:i, s:b}", "number", number, "stops",
                                                            (int)stops)));
    return true;
}

/* The stop signal follows the warning as late as was asked for, but in time for what the program
 * does then. */
void stop_send(struct master *m) {
    enum { SHARE = 4 };
    int64_t left = m->stop.budget.deadline - clock_now();
    int64_t wanted = m->s.job->settings.warning.seconds * CLOCK_SECOND;
    loop_cancel(&m->s.loop, &m->stop.hold);
    if (!attempt_send_stop(&m->attempt))
        return;
    if (!warn(m, true)) {
        send_stop_signal(m);
        return;
    }
    int64_t most = left - left / SHARE;
    int64_t wait = wanted < most ? wanted : most;
    loop_after(&m->s.loop, &m->stop.warned, wait);
    log_info("all ranks are sent SIG%s, and SIG%s in %.1f s",
             signal_name(m->s.job->settings.warning.number),
             signal_name(m->s.job->settings.stop_signal), (double)wait / (double)CLOCK_SECOND);
}

static void end_is_near(void *context) {
    struct master *m = context;
    const struct stop_warning *warning = &m->s.job->settings.warning;
    if (m->phase == PHASE_RUNNING && !m->attempt.ending && warn(m, false))
        log_info("the platform ends the job in %lld s: all ranks are sent SIG%s",
                 (long long)warning->seconds, signal_name(warning->number));
}

void stop_await_end(struct master *m) {
    const struct stop_warning *warning = &m->s.job->settings.warning;
    int64_t ends = m->s.job->cluster.ends;
    if (warning->number == 0 || ends == 0)
        return;
    int64_t left = (ends - warning->seconds) * CLOCK_SECOND - clock_wall();
    if (left > 0)
        loop_after(&m->s.loop, &m->stop.end, left);
    else
        log_warning("the platform ends the job in less than %lld s: the ranks of this attempt are "
                    "not warned of that",
                    (long long)warning->seconds);
}

void stop_end_budget(struct master *m) {
    if (m->attempt.killed == 0 && m->stop.budget.active)
        loop_at(&m->s.loop, &m->stop.budget, clock_now());
}

/* Each shim kills the group of its own program: a signal through mpirun would also end the shims,
 * and their reports with them. */
void stop_kill(struct master *m) {
    log_warning("the time to stop is over: SIGKILL");
    attempt_kill(&m->attempt, clock_boot());
    master_send_all(m, message_new(MESSAGE_KILL));
}

void stop_init(struct master *m) {
    m->stop.budget = (struct timer){.fire = budget_spent, .context = m};
    m->stop.hold = (struct timer){.fire = hold_spent, .context = m};
    m->stop.end = (struct timer){.fire = end_is_near, .context = m};
    m->stop.warned = (struct timer){.fire = warning_over, .context = m};
}

void stop_close(struct master *m) {
    loop_cancel(&m->s.loop, &m->stop.budget);
    loop_cancel(&m->s.loop, &m->stop.hold);
    loop_cancel(&m->s.loop, &m->stop.end);
    loop_cancel(&m->s.loop, &m->stop.warned);
}
