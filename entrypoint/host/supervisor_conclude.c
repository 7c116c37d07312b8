/* The end of the job in this container: its report, and the processes that it still waits for. */
#include "common/clock.h"
#include "common/log/log.h"
#include "entrypoint/host/observe/metric_matcher.h"
#include "entrypoint/host/supervisor.h"

/* Time for all remaining processes to end after the verdict: a moment to notice, and no more. With
 * LEAVE_SECONDS it stays within the 2 s that leaving may take. */
static const int64_t sweep_grace = 500 * CLOCK_MILLISECOND;
static const int64_t sweep_give_up = CLOCK_SECOND;
enum { LEAVE_SECONDS = 1 };

static bool must_stay(const struct supervisor *s) {
    return s->role->must_stay != NULL && s->role->must_stay(s->state);
}

static void time_is_over(void *context) {
    struct supervisor *s = context;
    if (!s->overdue && must_stay(s))
        log_info("waiting for hosts that have not received the verdict yet");
    s->overdue = true;
    loop_after(&s->loop, &s->leave, LEAVE_SECONDS * CLOCK_SECOND);
    supervisor_may_leave(s);
}

static void swept(void *context, size_t left);

/* Starts the writers again. A program may have filled the container with processes, so that
 * starting them failed before. */
static bool writes_again(struct supervisor *s) {
    pid_t before = event_log_child(&s->event_log);
    bool again = !s->tried_again && failure_writer_again(&s->failure, &s->verdict);
    if (!s->tried_again)
        event_log_rest(&s->event_log);
    s->tried_again = true;
    if (!again && event_log_child(&s->event_log) == before)
        return false;
    process_tree_spare(&s->sweep, s->failure.child.pid, event_log_child(&s->event_log));
    process_tree_start(&s->sweep, &s->loop, &s->reaper, 0, sweep_give_up, swept, s);
    return true;
}

static void swept(void *context, size_t left) {
    struct supervisor *s = context;
    if (writes_again(s))
        return;
    if (left > 0)
        log_warning("%zu processes did not die of SIGKILL in time", left);
    s->swept = true;
    s->leave = (struct timer){.fire = time_is_over, .context = s};
    loop_after(&s->loop, &s->leave, LEAVE_SECONDS * CLOCK_SECOND);
    supervisor_may_leave(s);
}

void supervisor_may_leave(struct supervisor *s) {
    if (s->judged && s->swept && (s->role->may_leave(s->state) || s->overdue) && !must_stay(s))
        loop_end(&s->loop);
}

/* A requested stop is no error; a rank that did not end properly is worth a warning. */
static enum log_level level_of(const struct verdict *v) {
    if (v->code == EXIT_CODE_OK)
        return LOG_INFO;
    if (v->code != EXIT_CODE_STOPPED || v->rank >= 0)
        return LOG_ERROR;
    return v->log_tail[0] == '\0' ? LOG_INFO : LOG_WARNING;
}

/* Logs the last lines of the rank that failed, if this log lacks them: the rank is on another host,
 * or the log was read too slowly. */
static void log_tail_elsewhere(const struct supervisor *s, const struct verdict *v) {
    bool own = v->host == (int)s->job->cluster.self;
    if (own && s->console.dropped_ever == 0 && console_waiting(&s->console) == 0)
        return;
    log_lines(level_of(v), v->log_tail);
}

void supervisor_conclude(struct supervisor *s, const struct verdict *verdict) {
    if (s->judged)
        return;
    s->judged = true;
    s->verdict = *verdict;
    s->host.quiet = true;
    progress_line_close(&s->progress_line);
    mpi_setup_drop(&s->mpi_setup);
    if (verdict->code == 0)
        log_info("done: %s", verdict->text);
    else
        log_line(level_of(verdict), "%s: %s; leaving with %d", verdict->class_name, verdict->text,
                 verdict->code);
    log_lines(level_of(verdict), verdict->evidence);
    log_tail_elsewhere(s, verdict);
    executor_send_dropped(&s->host);
    output_upload_drop(&s->output_upload);
    failure_writer_conclude(&s->failure, verdict);
    metrics_exporter_conclude(&s->metrics_exporter, verdict->code);
    trainer_status_conclude(&s->trainer_status, verdict->code);
    /* A host that has followed a lost master does not know the lines before that. */
    metric_matcher_conclude(&s->host.metrics, &s->event_log,
                            cluster_is_master(&s->job->cluster) &&
                                !role_state_knows(s->role_state));
    event_log_conclude(&s->event_log, verdict);
    process_tree_spare(&s->sweep, s->failure.child.pid, event_log_child(&s->event_log));
    mpi_daemon_kill(&s->host.daemon);
    bool proof = shared_dir_check_end(&s->host.proof); /* no program has started then */
    process_tree_start(&s->sweep, &s->loop, &s->reaper, s->at_once && !proof ? 0 : sweep_grace,
                       sweep_give_up, swept, s);
}

void supervisor_conclude_error(struct supervisor *s, const struct error *error, int host) {
    struct verdict verdict;
    verdict_from_error(error, &s->job->cluster, host, &verdict);
    supervisor_conclude(s, &verdict);
}

void supervisor_conclude_refused(struct supervisor *s, const struct error *error) {
    s->failure.refused = true;
    supervisor_conclude_error(s, error, (int)s->job->cluster.self);
}
