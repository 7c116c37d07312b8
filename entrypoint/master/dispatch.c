#include "entrypoint/master/dispatch.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "entrypoint/master/accept.h"
#include "entrypoint/master/accounting.h"
#include "entrypoint/master/failover/rejoin.h"
#include "entrypoint/master/failover/shared_dir.h"
#include "entrypoint/master/failover/takeover.h"
#include "entrypoint/master/launch.h"
#include "entrypoint/master/launch_mpirun.h"
#include "entrypoint/master/members/join.h"
#include "entrypoint/master/members/lease.h"
#include "entrypoint/master/preflight/check.h"
#include "entrypoint/master/preflight/preflight.h"
#include "entrypoint/master/ras_child.h"
#include "entrypoint/master/relaunch.h"
#include "entrypoint/master/reports.h"
#include "entrypoint/master/standing.h"
#include "entrypoint/master/stop.h"
#include "entrypoint/master/uploads.h"
#include "entrypoint/master/verdict_delivery.h"
#include "entrypoint/outcome/restart.h"

#include <signal.h>

/* The table in phase.c names actions by number; this file gives each of them a function. An event
 * passes dispatch(), which finds the row, enters the row's next phase, and only then performs the
 * row's actions, one after the other.
 *
 * Actions come in three kinds: those that can fail (try), those that concern the host of the event
 * (act_on), and those that need the master alone (acts). The function act() asks for them in this
 * order, and each action is in one place only.
 *
 * An action may raise an event, and the call nests: dispatch() runs for the inner event, and then
 * the outer row continues. What follows such an action in a row must therefore make sense in
 * whatever phase the inner event has led to. */

/* Size of mpirun's output, with names of hosts in place of their addresses. */
enum { MPIRUN_WORDS_MAX = 64 * 1024 };

/* Ends the job without a verdict on an attempt. A failed launch is an attempt of its own. Before
 * the second attempt there is none to tell of; later the text also says what the attempts so far
 * came to. */
static void set_verdict(struct master *m) {
    if (m->attempt.number > 1)
        relaunch_end(m, &m->fault, (size_t)m->fault_host, m->attempt.number, "");
    else
        verdict_from_error(&m->fault, &m->s.job->cluster, m->fault_host, &m->verdict);
}

/* The stop came in a pause, so that the attempt it ends is the one before: the number has been
 * raised already. */
static void set_verdict_stopped(struct master *m, const struct member *b) {
    struct error err = {0};
    (void)error_set(&err, EXIT_CODE_STOPPED, "stopped on request between two attempts");
    relaunch_end(m, &err, b->index, m->attempt.number - 1, "");
}

/* The other hosts may have a master of their own by now: nothing may run here any longer. Says how
 * many hosts of the last view are here, in ERR. In a role that took over and has not begun an
 * attempt, those are the hosts that have joined; otherwise those that have answered heartbeats. */
static void describe_quorum_lost(const struct master *m, struct error *err) {
    const struct view *last = quorum_last(&m->s.role_state->quorum);
    bool gathered = !role_state_knows(m->s.role_state) || m->attempt.number > 1;
    (void)error_set(
        err, EXIT_CODE_HOST_LOST,
        "%zu of the %zu hosts of attempt %u are here: the others may continue without them",
        gathered ? lease_heard(m) : m->join.count, host_set_count(&last->hosts), last->number);
}

/* There are two ways to come here: another host has said that it leads the job, or too few hosts
 * answer this one. The log tells them apart. */
static void rejoin(struct master *m) {
    struct error err = {0};
    if (m->leader_query.leader > 0) {
        log_info("%s leads the job: this host asks to rejoin it",
                 supervisor_host_name(&m->s, m->leader_query.leader));
    } else {
        describe_quorum_lost(m, &err);
        log_error("%s; this host asks the others to readmit it", err.text);
    }
    rejoin_ask(m);
}

/* The others may have a master by now that launches again, so the programs here are killed without
 * the usual grace. */
static void set_verdict_quorum_lost(struct master *m) {
    struct error err = {0};
    describe_quorum_lost(m, &err);
    verdict_from_error(&err, &m->s.job->cluster, 0, &m->verdict);
    m->s.at_once = true;
}

/* The leases of the first attempt begin with the probe of the shared directory: every host has
 * answered that question. */
static void commit_view(struct master *m) {
    if (m->attempt.number == 1)
        lease_begin(m, m->shared_dir.asked);
    relaunch_commit(m);
}

/* Puts together what is known of the attempt, judges it, and asks the rules of restarts what
 * follows. Both steps are pure (verdict.c, restart.c), so the same facts give the same result when
 * success is judged a second time. Hosts that wait to be readmitted count among those left for the
 * next attempt. */
static void decide(struct master *m, struct restart_decision *ret) {
    struct verdict_facts facts;
    struct verdict verdict;
    const struct attempt *a = &m->attempt;
    cleanup_buf struct buf words;
    cleanup_buf struct buf mpi_error;
    buf_init(&words, MPIRUN_WORDS_MAX);
    buf_init(&mpi_error, MPIRUN_WORDS_MAX);
    launch_words(m, &words);
    launch_mpi_error_text(m, &mpi_error);
    attempt_facts(a, &m->s.job->cluster, buf_text(&words), &facts);
    facts.mpi_error_text = buf_text(&mpi_error);
    verdict_judge(&facts, &verdict);
    bool stopped = attempt_stop_began(a) != 0;
    /* Outside a running attempt the number is 0, which rules out another attempt (restart.c). */
    const struct restart_facts about = {.cluster = &m->s.job->cluster,
                                        .verdict = &verdict,
                                        .attempt = m->phase == PHASE_RUNNING ? a->number : 0,
                                        .hosts_left = master_hosts_left(m) + rejoin_count(m),
                                        .host_lost = a->loss_count > 0,
                                        .followed = role_state_is_on(m->s.role_state),
                                        .step = attempt_step(a),
                                        .before = m->relaunch.progress,
                                        .stop_host = stopped ? (int)a->stop_host : -1};
    restart_decide(&m->s.job->settings, &about, ret);
}

/* If this host was paused, good reports may be queued here from hosts that have given this host up
 * since. So success waits until all hosts have answered, and is judged again then. Any other
 * verdict is final: a failure needs no witness. */
static bool waits_for_answers(struct master *m, const struct restart_decision *decision) {
    m->lease.asked = decision->verdict.code == EXIT_CODE_OK ? m->lease.asked : 0;
    return m->phase == PHASE_RUNNING && decision->verdict.code == EXIT_CODE_OK && !lease_is_sure(m);
}

/* Raises TRY_AGAIN or ENDED, unless success still waits for answers; ALL_ANSWERED then leads here
 * again. The furthest step is added once an attempt is over, as the rules of restarts compare
 * attempts by it. */
static void judge(struct master *m) {
    struct restart_decision decision;
    decide(m, &decision);
    if (waits_for_answers(m, &decision))
        return;
    restart_progress_add(&m->relaunch.progress, attempt_step(&m->attempt));
    if (!decision.again) {
        m->verdict = decision.verdict;
        master_raise(m, EVENT_ENDED);
        return;
    }
    m->failed = decision.verdict;
    accounting_failed(m);
    m->relaunch.wait = decision.pause;
    log_error("%s: %s", m->failed.class_name, m->failed.text);
    event_log_put(&m->s.event_log, EVENT_LOG_ATTEMPT_OVER,
                  json_pack("{s:i, s:s, s:o, s:I}", "code", m->failed.code, "class",
                            m->failed.class_name, "text", event_schema_text(m->failed.text),
                            "seconds", (json_int_t)(decision.pause / CLOCK_SECOND)));
    log_info("attempt %u of %lld failed; the next one begins in %lld s", m->attempt.number,
             (long long)m->s.job->settings.restarts + 1,
             (long long)(decision.pause / CLOCK_SECOND));
    master_raise(m, EVENT_TRY_AGAIN);
}

/* Nothing that mpirun could do matters any more, and it would take its time. Its remaining output
 * is not shown, either. */
static void end_mpirun(struct master *m) {
    m->s.host.quiet = true;
    launch_signal(m, SIGKILL);
}

/* Closes the parts that belong to one attempt, and then resets its record for the next one. Members
 * and the listener stay. */
static void reset_attempt(struct master *m) {
    end_mpirun(m);
    launch_close(m);
    stop_close(m);
    reports_close(m);
    ras_child_end(m);
    standing_reset(m);
    attempt_forget(&m->attempt);
}

/* The ranks are done for, but the verdict is not sent yet: a failed upload may still change it. */
static void upload(struct master *m) {
    accounting_end(m);
    reports_close(m);
    ras_child_end(m);
    end_mpirun(m);
    stop_close(m);
    uploads_begin(m);
}

/* The verdict is sent before mpirun is ended and this host cleans up: the other hosts need not wait
 * for either. */
static void conclude(struct master *m) {
    accounting_end(m);
    reports_close(m);
    ras_child_end(m);
    uploads_close(m);
    verdict_delivery_begin(m);
    end_mpirun(m);
    supervisor_conclude(&m->s, &m->verdict);
}

/* A check has its result in the verdict that check_print() leaves; ENDED takes it to all hosts. */
static int print_check(struct master *m, struct error *err) {
    if (check_print(m, err) != 0)
        return -1;
    master_raise(m, EVENT_ENDED);
    return 0;
}

/* Runs an action that may fail; returns 1 for all other actions. Failures become LAUNCH_FAILED in
 * act(). */
static int try(struct master *m, enum phase_action action, struct error *err) {
    switch (action) {
    case DO_CHOOSE_INTERFACE:
        /* a check continues with a fault of this host, which may lack an interface, too */
        return m->s.fault.code != 0 ? 0 : launch_choose_interface(m, err);
    case DO_EXAMINE:
        return preflight_begin(m, err);
    case DO_PRINT_CHECK:
        return print_check(m, err);
    case DO_LAUNCH:
        stop_await_end(m);
        return launch_begin(m, err);
    case DO_NEXT_ATTEMPT:
        return relaunch_next(m, err);
    default:
        return 1;
    }
}

/* Runs an action that concerns the host of the event; returns false for all other actions. */
static bool act_on(const struct raised *raised, enum phase_action action) {
    struct member *b = raised->member;
    const char *why = raised->why;
    switch (action) {
    case DO_UNJOIN:
        join_left(b);
        return true;
    case DO_ADMIT:
        takeover_admit(b, raised->word);
        return true;
    case DO_SKIP_HOST:
        preflight_left(b);
        return true;
    case DO_MARK_LOST:
        lease_lose(b, why);
        return true;
    case DO_DROP_SPARE:
        lease_drop_spare(b, why);
        return true;
    case DO_LEAVE_AGENT:
        launch_agent_leave(b, EXIT_CODE_HOST_LOST);
        return true;
    case DO_DECIDE_ON_LOSS:
        relaunch_decide_on_loss(b, why);
        return true;
    case DO_DISCONNECT:
        relaunch_disconnect(b);
        return true;
    case DO_NOTE_STOP:
        stop_note(b->master, b->index);
        return true;
    case DO_NOTE_LATE_STOP:
        attempt_stop_late(&b->master->attempt, b->index, clock_boot());
        return true;
    case DO_SKIP_UPLOAD:
        uploads_lost(b, why);
        return true;
    case DO_SET_VERDICT_STOPPED:
        set_verdict_stopped(b->master, b);
        return true;
    default:
        return false;
    }
}

static void term_mpirun(struct master *m) {
    launch_signal(m, SIGTERM);
}

static void may_leave_now(struct master *m) {
    supervisor_may_leave(&m->s);
}

/* Actions that need the master alone and cannot fail. The others have no entry. */
static void (*const acts[DO_COUNT])(struct master *m) = {
    [DO_AWAIT_LOST] = reports_await_lost,
    [DO_AWAIT_LAST] = reports_await_last,
    [DO_COLLECT] = reports_gather,
    [DO_AWAIT_KILLED] = reports_await_killed,
    [DO_RELEASE] = reports_release_all,
    [DO_JUDGE] = judge,
    [DO_SHORTEN_JOIN] = join_shorten,
    [DO_BEGIN_STOP] = stop_begin,
    [DO_SEND_STOP] = stop_send,
    [DO_END_BUDGET] = stop_end_budget,
    [DO_TERM_MPIRUN] = term_mpirun,
    [DO_KILL] = stop_kill,
    [DO_RESET_ATTEMPT] = reset_attempt,
    [DO_CLEAR] = relaunch_clear,
    [DO_PROBE] = shared_dir_begin,
    [DO_END_PROBE] = shared_dir_end,
    [DO_TAKE_OVER] = takeover_end,
    [DO_CHECK_QUORUM] = takeover_check_quorum,
    [DO_READMIT] = rejoin_take,
    [DO_REDIRECT] = rejoin_redirect,
    [DO_DISCONNECT_ALL] = accept_disconnect_all,
    [DO_REJOIN] = rejoin,
    [DO_COMMIT_VIEW] = commit_view,
    [DO_SET_VERDICT] = set_verdict,
    [DO_SET_VERDICT_QUORUM_LOST] = set_verdict_quorum_lost,
    [DO_UPLOAD] = upload,
    [DO_SHORTEN_UPLOADS] = uploads_shorten,
    [DO_END_UPLOADS] = uploads_end,
    [DO_APPLY_UPLOADS] = uploads_apply,
    [DO_CONCLUDE] = conclude,
    [DO_MAY_LEAVE] = may_leave_now,
};

/* Returns false if the rest of the row must be skipped. On failure of an action this host is the
 * fault's, and LAUNCH_FAILED is raised in the phase that the row has entered already. An action of
 * a member is skipped if the event names none. */
static bool act(struct master *m, const struct raised *raised, enum phase_action action) {
    struct error err = {0};
    int tried = try(m, action, &err);
    if (tried == 0)
        return true;
    if (tried < 0) {
        m->fault = err;
        m->fault_host = 0;
        master_raise(m, EVENT_LAUNCH_FAILED);
        return false;
    }
    if (raised->member != NULL && act_on(raised, action))
        return true;
    if (acts[action] != NULL)
        acts[action](m);
    return true;
}

/* All guards are evaluated before the phase changes, and none of them after an action: what a row
 * does cannot change which row was chosen. The attempt's number and the phase may both be others
 * when this returns. */
void dispatch(struct master *m, const struct raised *raised) {
    /* Checked first, also after this container has been paused. */
    if (raised->event != EVENT_QUORUM_LOST && lease_is_out(m))
        master_raise(m, EVENT_QUORUM_LOST);
    const bool holds[GUARD_COUNT] = {
        [GUARD_STOP] = m->attempt.stop_asked != 0,
        [GUARD_ENDING] = m->attempt.ending,
        [GUARD_FAULT] = m->fault.code != 0,
        [GUARD_CHECK] = m->check,
        [GUARD_TARGETS] = uploads_wanted(m),
        [GUARD_LOST] = raised->member != NULL && raised->member->lost,
        [GUARD_SPARE] =
            raised->member != NULL && m->s.job->cluster.hosts[raised->member->index].spare,
        /* Joining has begun once this host has all that it downloads. */
        [GUARD_FETCHES] = !m->join.begun,
        [GUARD_FAILOVER] = role_state_is_on(m->s.role_state),
        [GUARD_MAY_REJOIN] =
            m->attempt.stop_asked == 0 && role_state_may_return(m->s.role_state, m->s.job),
    };
    const struct phase_row *row = phase_find(m->phase, raised->event, holds);
    /* The phase is still the old one here. */
    log_debug("%s: %s", phase_name(m->phase), phase_event_name(raised->event));
    /* Rows that stay in their phase leave the phase before as it was. */
    if (row->next != m->phase)
        m->phase_before = m->phase;
    m->phase = row->next;
    for (size_t i = 0; i < PHASE_ACTIONS_MAX && row->actions[i] != DO_NOTHING; i++)
        if (!act(m, raised, row->actions[i]))
            return;
}
