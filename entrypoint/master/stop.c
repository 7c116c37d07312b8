#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "master/master.h"
#include "wire/frame.h"

#include <signal.h>

/* How long a stop waits for ranks that have not started yet: they would miss it. */
static const int64_t hold_longest = 10 * CLOCK_SECOND;
/* How long a stop before the launch waits for hosts that have not joined yet: they would wait for
 * this one in vain. */
static const int64_t join_longest = 5 * CLOCK_SECOND;
/* From SIGKILL to the verdict. */
static const int64_t after_kill = CLOCK_SECOND;

/* The end of the budget. What reports now is let go at once, so that mpirun ends too. */
static void budget_spent(void *context) {
    struct master *m = context;
    if (m->phase != MASTER_RUNNING)
        return;
    log_warning("the time to stop is over: SIGKILL");
    m->attempt.killed = true;
    master_send_all(m, frame_new("kill"));
    collect_release_all(m);
    collect_begin(m, after_kill);
}

/* Not all ranks came: the launch itself is ended. */
static void held_too_long(void *context) {
    struct master *m = context;
    if (m->phase != MASTER_RUNNING || m->attempt.stop_sent)
        return;
    launch_signal(m, SIGTERM);
    budget_spent(m);
}

static void send_stop(struct master *m) {
    if (m->attempt.stop_sent)
        return;
    m->attempt.stop_sent = true;
    loop_cancel(&m->s.loop, &m->attempt.hold);
    master_send_all(m, frame_new("stop"));
}

static void begin(struct master *m, size_t host) {
    int64_t seconds = settings_stop_seconds(&m->s.job->settings, m->s.job->cluster.local_mode);
    int64_t budget = seconds * CLOCK_SECOND;
    m->attempt.stop_asked = clock_boot();
    m->attempt.stop_host = (unsigned)host;
    m->attempt.budget = (struct timer){.fire = budget_spent, .context = m};
    m->attempt.hold = (struct timer){.fire = held_too_long, .context = m};
    log_info("stopping on request of %s, within %lld s", supervisor_host_name(&m->s, host),
             (long long)seconds);
    if (m->phase == MASTER_JOINING) {
        loop_after(&m->s.loop, &m->ready_deadline, join_longest);
        return;
    }
    loop_after(&m->s.loop, &m->attempt.budget, budget);
    if (m->attempt.seated_count == m->attempt.ranks)
        send_stop(m);
    else
        loop_after(&m->s.loop, &m->attempt.hold,
                   budget / 2 < hold_longest ? budget / 2 : hold_longest);
}

/* The attempt is ending already, but another one might follow. */
static void note_late(struct master *m, size_t host) {
    if (m->attempt.stop_asked == 0 && !m->attempt.stop_late)
        m->attempt.stop_host = (unsigned)host;
    m->attempt.stop_late = true;
}

void stop_asked(struct master *m, size_t host, bool again) {
    if (m->phase == MASTER_JUDGED)
        return;
    if (m->phase == MASTER_CLEARING)
        relaunch_stopped(m, host);
    else if (m->attempt.collect.active)
        note_late(m, host);
    else if (m->attempt.stop_asked == 0)
        begin(m, host);
    else if (again && m->phase == MASTER_JOINING)
        collect_judge(m);
    else if (again && !m->attempt.killed && m->attempt.budget.active)
        loop_at(&m->s.loop, &m->attempt.budget, clock_now());
}

void stop_seats_taken(struct master *m) {
    if (m->attempt.stop_asked != 0)
        send_stop(m);
}

bool stop_holds(const struct master *m) {
    return m->attempt.stop_sent && !m->attempt.killed;
}

void stop_close(struct master *m) {
    loop_cancel(&m->s.loop, &m->attempt.budget);
    loop_cancel(&m->s.loop, &m->attempt.hold);
}
