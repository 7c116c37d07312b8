#include "entrypoint/master/launch.h"

#include "common/clock.h"
#include "common/log/log.h"
#include "common/str.h"
#include "entrypoint/master/launch_way.h"

#include <signal.h>

int launch_choose_interface(struct master *m, struct error *err) {
    const struct net_address none = {0};
    char warning[INTERFACE_WARNING_SIZE] = "";
    const struct net_address *peer = NULL;
    for (size_t i = 1; peer == NULL && i < m->s.job->cluster.count; i++)
        if (m->members[i].joined)
            peer = &m->members[i].address;
    if (executor_meet_master(&m->s.host, &none, peer, warning, err) != 0)
        return -1;
    if (warning[0] != '\0')
        log_warning("%s", warning);
    return 0;
}

/* Time for all ranks to start: as long as hosts have to join, and at least a minute. */
static int64_t start_seconds(const struct master *m) {
    enum { LEAST = 60 };
    int64_t ready = m->s.job->settings.ready_seconds;
    return ready > LEAST ? ready : LEAST;
}

/* mpirun waits forever if it could not start a daemon because fork() failed, and a shim may never
 * register. */
void launch_give_up(void *context) {
    struct master *m = context;
    if (m->phase != PHASE_RUNNING ||
        attempt_note_overdue(&m->attempt, member_name(&m->members[0]), start_seconds(m),
                             clock_boot()) != ATTEMPT_NOTE_FAILURE)
        return;
    log_error("%s", m->attempt.tool_note);
    m->launch.given_up = true;
    master_raise(m, EVENT_FAILURE);
    launch_signal(m, SIGKILL);
}

static void record_launch(struct master *m) {
    const struct openmpi *v = &m->s.mpi_install.version;
    bool direct = m->attempt.direct;
    json_t *version =
        direct ? json_null() : json_sprintf("%u.%u.%u", v->major, v->minor, v->release);
    event_log_put(&m->s.event_log, EVENT_LOG_LAUNCHED,
                  json_pack("{s:I, s:I, s:s, s:o}", "ranks", (json_int_t)m->attempt.ranks, "hosts",
                            (json_int_t)cluster_hosts_left(&m->s.job->cluster), "launcher",
                            launcher_name(direct ? LAUNCHER_DIRECT : LAUNCHER_MPIRUN), "openmpi",
                            version));
}

/* A single rank is started directly, also if there were more in an earlier attempt. */
static bool is_direct(const struct master *m) {
    return m->attempt.ranks == 1 || m->s.job->launcher.kind == LAUNCHER_DIRECT;
}

int launch_begin(struct master *m, struct error *err) {
    bool direct = is_direct(m);
    input_download_rest(&m->s.input_download);
    m->launch.way = direct ? &launch_direct : &launch_mpirun;
    attempt_launched(&m->attempt, clock_now(), direct);
    attempt_may_lose(&m->attempt, direct ? m->s.job->settings.lost_ranks : 0);
    if (m->launch.way->begin(m, err) != 0)
        return -1;
    m->launch.overdue = (struct timer){.fire = launch_give_up, .context = m};
    loop_after(&m->s.loop, &m->launch.overdue, start_seconds(m) * CLOCK_SECOND);
    record_launch(m);
    log_info("all hosts are here: starting %zu rank%s of %s", m->attempt.ranks,
             STR_PLURAL(m->attempt.ranks), m->s.job->program.argv.items[0]);
    return 0;
}

void launch_signal(struct master *m, int number) {
    if (m->launch.way != NULL)
        m->launch.way->signal(m, number);
}

void launch_close(struct master *m) {
    loop_cancel(&m->s.loop, &m->launch.overdue);
    m->launch.given_up = false;
    m->launch.way = NULL;
    launch_mpirun.close(m); /* an agent may have come without a launch */
    launch_direct.close(m);
}
