#include "entrypoint/master/stop.h"

#include "common/clock.h"
#include "common/log/log.h"
#include "entrypoint/master/uploads.h"
#include "entrypoint/wire/message.h"

/* How long a stop waits for ranks that have not started yet: a program that gets SIGTERM before it
 * handles it dies, and one that is not told would train on. */
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
    event_log_put(&m->s.event_log, RECORD_STOP,
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
    if (attempt_is_seated(&m->attempt))
        stop_send(m);
    else
        loop_after(&m->s.loop, &m->stop.hold, all / 2 < hold_longest ? all / 2 : hold_longest);
}

void stop_send(struct master *m) {
    loop_cancel(&m->s.loop, &m->stop.hold);
    if (attempt_send_stop(&m->attempt))
        master_send_all(m, message_new(MESSAGE_STOP));
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
}

void stop_close(struct master *m) {
    loop_cancel(&m->s.loop, &m->stop.budget);
    loop_cancel(&m->s.loop, &m->stop.hold);
}
