/* The end of a role after its master is lost: this host will follow another one. It ends the parts
 * of struct supervisor, which has parts of host/failover as members, and so lies above that room.
 */
#include "common/clock.h"
#include "common/log/log.h"
#include "entrypoint/host/supervisor.h"

/* Processes that survive SIGKILL for so long are given up. */
static const int64_t give_up = 10 * CLOCK_SECOND;

static void conclude_unfit(struct supervisor *s, const char *why) {
    struct error err = {0};
    s->judged = false;
    s->role_state->over = false;
    (void)error_set(&err, EXIT_CODE_HOST_LOST,
                    "the master is lost, and this host cannot follow another host: %s", why);
    supervisor_conclude_error(s, &err, (int)s->job->cluster.self);
}

static void vacant(void *context, const struct error *failure) {
    struct supervisor *s = context;
    if (failure == NULL)
        loop_end(&s->loop);
    else
        conclude_unfit(s, failure->text);
}

static void swept(void *context, size_t left) {
    struct supervisor *s = context;
    if (left > 0) {
        conclude_unfit(s, "processes here did not die of SIGKILL");
        return;
    }
    port_wait_await(&s->port_wait, &s->services, PORT_WAIT_AGAIN_SECONDS, vacant, s);
}

/* What the next master needs to know of the job's time. */
static void account(struct supervisor *s) {
    struct goodput *g = &s->role_state->goodput;
    int64_t pause = 0;
    const int64_t saved = rank_saves_last(&s->host.rank_set, &pause);
    goodput_saved(g, saved, pause);
    goodput_failed(g, clock_boot(), GOODPUT_HOST);
}

/* Sets `judged`, so that whatever is still under way in this life has no effect. */
void supervisor_follow(struct supervisor *s) {
    if (s->judged)
        return;
    s->judged = true;
    s->role_state->over = true;
    s->host.quiet = true;
    account(s);
    mpi_setup_drop(&s->mpi_setup);
    executor_end_attempt(&s->host, 0);
    mpi_daemon_kill(&s->host.daemon);
    mpi_daemon_drop(&s->host.daemon);
    rank_launch_end(&s->host.rank_launch);
    output_upload_close(&s->output_upload);
    process_tree_keep(&s->sweep, 0);
    metrics_exporter_stop(&s->metrics_exporter);
    trainer_status_close(&s->trainer_status);
    event_log_rest(&s->event_log);
    process_tree_spare(&s->sweep, event_log_child(&s->event_log), 0);
    process_tree_start(&s->sweep, &s->loop, &s->reaper, 0, give_up, swept, s);
}

void supervisor_lead_anew(struct supervisor *s) {
    log_info("no host leads the job any more: this host waits for all others, as at the start");
    s->role_state->back = false;
    supervisor_follow(s);
}
