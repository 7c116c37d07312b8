#include "master/master.h"

#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "master/check.h"
#include "master/collect.h"
#include "master/join.h"
#include "master/launch.h"
#include "master/lease.h"
#include "master/relaunch.h"
#include "master/stop.h"
#include "outcome/restart.h"
#include "wire/frame.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* With hosts' names in place of their addresses. */
enum { MPIRUN_WORDS_MAX = 64 * 1024 };

/* Lines come in parts that a message holds; the last one ends with '\n'. */
static void forwarded_line(struct member *b, const json_t *message) {
    const json_t *text = json_object_get(message, "text");
    struct console *console = &b->master->s.console;
    size_t size = json_string_length(text);
    int64_t dropped = json_integer_value(json_object_get(message, "dropped"));
    if (dropped > 0)
        console_count_dropped(console, (uint64_t)dropped);
    if (size == 0)
        return;
    if (buf_add(&b->line, json_string_value(text), size, NULL) != 0)
        b->line.size = 0; /* none of ours is that long */
    else if (b->line.data[b->line.size - 1] == '\n') {
        console_line(console, b->line.data, b->line.size);
        b->line.size = 0;
    }
}

static void ask_for_stop(struct member *b, bool again) {
    master_raise_about(b, again ? EVENT_STOP_AGAIN : EVENT_STOP, NULL);
}

/* Words of a member that only have a meaning for one attempt: late ones of the last are left alone.
 */
static void hear_attempt(struct member *b, const json_t *message) {
    const char *type = frame_type(message);
    if (json_integer_value(json_object_get(message, "attempt")) != b->master->attempt.number)
        return;
    if (strcmp(type, "cleared") == 0)
        relaunch_cleared(b, message);
    else if (b->master->phase != PHASE_RUNNING)
        return;
    else if (strcmp(type, "seated") == 0)
        collect_seated(b, message);
    else if (strcmp(type, "report") == 0)
        collect_report(b, message);
    else if (strcmp(type, "stalled") == 0)
        collect_stalled(b, message);
    else if (strcmp(type, "daemon") == 0)
        launch_daemon_ended(b, message);
}

/* The words of every host, our own among them. */
static void hear(struct member *b, const json_t *message) {
    struct master *m = b->master;
    const char *type = frame_type(message);
    member_heard(b);
    if (strcmp(type, "line") == 0)
        forwarded_line(b, message);
    else if (strcmp(type, "alive") == 0)
        lease_alive(b, message);
    else if (m->phase == PHASE_JUDGED)
        return;
    else if (strcmp(type, "stop") == 0)
        ask_for_stop(b, json_is_true(json_object_get(message, "again")));
    else
        hear_attempt(b, message);
}

static void hear_member(void *context, const json_t *message) {
    hear(context, message);
}

static void member_closed(void *context, const struct error *why) {
    struct member *b = context;
    link_free(b->link);
    b->link = NULL;
    master_raise_about(b, EVENT_HOST_GONE, why->text);
}

const struct link_events master_member_events = {.message = hear_member, .closed = member_closed};

/* --- the table's actions ---------------------------------------------------------------------- */

/* The job's end without a verdict on an attempt. A launch that failed is an attempt of its own. */
static void blame(struct master *m) {
    if (m->attempt.number > 1)
        relaunch_end(m, &m->fault, (size_t)m->fault_host, m->attempt.number, "");
    else
        verdict_from_error(&m->fault, &m->s.job->cluster, m->fault_host, &m->verdict);
}

static void blame_stop(struct master *m, const struct member *b) {
    struct error err = {0};
    (void)error_set(&err, EXIT_CODE_STOPPED, "stopped on request between two attempts");
    relaunch_end(m, &err, b->index, m->attempt.number - 1, "");
}

static void decide(struct master *m, struct restart_decision *ret) {
    struct verdict_facts facts;
    struct verdict verdict;
    const struct attempt *a = &m->attempt;
    cleanup_buf struct buf words;
    buf_init(&words, MPIRUN_WORDS_MAX);
    launch_words(m, &words);
    attempt_facts(a, &m->s.job->cluster, buf_text(&words), &facts);
    verdict_judge(&facts, &verdict);
    bool stopped = a->stop_asked != 0 || a->stop_late;
    const struct restart_facts about = {.cluster = &m->s.job->cluster,
                                        .verdict = &verdict,
                                        .attempt = m->phase == PHASE_RUNNING ? a->number : 0,
                                        .hosts_left = master_hosts_left(m),
                                        .host_lost = a->loss_count > 0,
                                        .stop_host = stopped ? (int)a->stop_host : -1};
    restart_decide(&m->s.job->settings, &about, ret);
}

static void judge(struct master *m) {
    struct restart_decision decision;
    decide(m, &decision);
    if (!decision.again) {
        m->verdict = decision.verdict;
        master_raise(m, EVENT_ENDED);
        return;
    }
    m->failed = decision.verdict;
    m->relaunch.wait = decision.pause;
    log_error("%s: %s", m->failed.class_name, m->failed.text);
    log_info("attempt %u of %lld has failed; another one begins in %lld s", m->attempt.number,
             (long long)m->s.job->settings.restarts + 1,
             (long long)(decision.pause / CLOCK_SECOND));
    master_raise(m, EVENT_TRY_AGAIN);
}

static void forget(struct master *m) {
    m->s.host.quiet = true; /* mpirun's farewell is noise */
    launch_signal(m, SIGKILL);
    launch_close(m);
    stop_close(m);
    collect_close(m);
    attempt_forget(&m->attempt);
}

static void conclude(struct master *m) {
    collect_close(m);
    if (m->verdict.code != EXIT_CODE_OK)
        launch_signal(m, SIGKILL); /* it would spend seconds on ranks that are gone */
    json_t *message = frame_new("verdict");
    json_t *members = verdict_json(&m->verdict);
    (void)json_object_update(message, members);
    json_decref(members);
    for (size_t i = 1; i < m->s.job->cluster.count; i++)
        master_send(m, i, json_incref(message));
    json_decref(message);
    master_flush(m); /* before anything else that takes time */
    supervisor_conclude(&m->s, &m->verdict);
}

static int check(struct master *m, struct error *err) {
    if (check_print(m, err) != 0)
        return -1;
    master_raise(m, EVENT_ENDED);
    return 0;
}

/* Those that may fail; 1 for all others. */
static int try(struct master *m, enum phase_action action, struct error *err) {
    switch (action) {
    case DO_MEET:
        return launch_meet(m, err);
    case DO_CHECK:
        return check(m, err);
    case DO_LAUNCH:
        return launch_begin(m, err);
    case DO_NEXT_ATTEMPT:
        return relaunch_next(m, err);
    default:
        return 1;
    }
}

/* Those about the event's host. */
static bool act_on(struct member *b, enum phase_action action, const char *why) {
    switch (action) {
    case DO_UNJOIN:
        join_left(b);
        return true;
    case DO_LOSE:
        lease_lose(b, why);
        return true;
    case DO_LEAVE_AGENT:
        launch_agent_leave(b, EXIT_CODE_HOST_LOST);
        return true;
    case DO_WEIGH_LOSS:
        relaunch_weigh_loss(b, why);
        return true;
    case DO_CUT:
        relaunch_cut(b);
        return true;
    case DO_NOTE_STOP:
        stop_note(b->master, b->index);
        return true;
    case DO_NOTE_LATE_STOP:
        attempt_stop_late(&b->master->attempt, b->index);
        return true;
    case DO_BLAME_STOP:
        blame_stop(b->master, b);
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

static void (*const acts[DO_COUNT])(struct master *m) = {
    [DO_AWAIT_LOST] = collect_await_lost,
    [DO_AWAIT_LAST] = collect_await_last,
    [DO_GATHER] = collect_gather,
    [DO_AWAIT_KILLED] = collect_await_killed,
    [DO_RELEASE] = collect_release_all,
    [DO_JUDGE] = judge,
    [DO_HURRY_JOIN] = join_hurry,
    [DO_BEGIN_STOP] = stop_begin,
    [DO_SEND_STOP] = stop_send,
    [DO_END_BUDGET] = stop_end_budget,
    [DO_TERM_MPIRUN] = term_mpirun,
    [DO_KILL] = stop_kill,
    [DO_FORGET] = forget,
    [DO_CLEAR] = relaunch_clear,
    [DO_BLAME] = blame,
    [DO_CONCLUDE] = conclude,
    [DO_MAY_LEAVE] = may_leave_now,
};

/* False where the rest of the row is not to be done. */
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
    if (raised->member != NULL && act_on(raised->member, action, raised->why))
        return true;
    if (acts[action] != NULL)
        acts[action](m);
    return true;
}

static void dispatch(struct master *m, const struct raised *raised) {
    const bool holds[GUARD_COUNT] = {
        [GUARD_STOP] = m->attempt.stop_asked != 0,
        [GUARD_ENDING] = m->attempt.ending,
        [GUARD_FAULT] = m->fault.code != 0,
        [GUARD_CHECK] = m->check,
        [GUARD_LOST] = raised->member != NULL && raised->member->lost,
    };
    const struct phase_row *row = phase_find(m->phase, raised->event, holds);
    log_debug("%s: %s", phase_name(m->phase), phase_event_name(raised->event));
    m->phase = row->next;
    for (size_t i = 0; i < PHASE_ACTIONS_MAX && row->actions[i] != DO_NOTHING; i++)
        if (!act(m, raised, row->actions[i]))
            return;
}

/* --- the role --------------------------------------------------------------------------------- */

static void start(void *state) {
    struct master *m = state;
    struct error err = {0};
    if (m->s.judged)
        return;
    lease_open(m);
    if (join_open(m, &master_member_events, &err) != 0)
        supervisor_conclude_error(&m->s, &err, 0);
}

static void tell(void *state, json_t *message) {
    struct master *m = state;
    post_put(&m->from_self, message);
}

static size_t queued(void *state) {
    (void)state;
    return 0;
}

static void agent(void *state, struct link *link, const json_t *message) {
    launch_agent(state, link, message);
}

static void stop(void *state, bool again) {
    struct master *m = state;
    ask_for_stop(&m->members[0], again);
}

/* The master leaves last: a closed link says that the host at its other end has left. */
static bool may_leave(void *state) {
    const struct master *m = state;
    for (size_t i = 1; i < m->s.job->cluster.count; i++)
        if (m->members[i].link != NULL)
            return false;
    return true;
}

static const struct role role = {.start = start,
                                 .tell = tell,
                                 .queued = queued,
                                 .agent = agent,
                                 .stop = stop,
                                 .may_leave = may_leave};

static void order_self(void *context, const json_t *message) {
    struct master *m = context;
    if (!m->s.judged) /* nothing may come between the job's end and ours */
        host_order(&m->s.host, message);
}

static void hear_self(void *context, const json_t *message) {
    struct master *m = context;
    hear(&m->members[0], message);
}

static int open_members(struct master *m, struct error *err) {
    size_t count = m->s.job->cluster.count;
    m->members = calloc(count, sizeof(*m->members));
    if (m->members == NULL)
        return error_no_memory(err, "hosts");
    for (size_t i = 0; i < count; i++) {
        m->members[i].master = m;
        m->members[i].index = i;
        buf_init(&m->members[i].line, LINES_MAX);
    }
    if (post_init(&m->to_self, &m->s.loop, order_self, m, err) != 0)
        return -1;
    return post_init(&m->from_self, &m->s.loop, hear_self, m, err);
}

static void close_all(struct master *m) {
    size_t count = m->members != NULL ? m->s.job->cluster.count : 0;
    for (size_t i = 0; i < count; i++) {
        link_free(m->members[i].link);
        buf_done(&m->members[i].line);
    }
    relaunch_close(m);
    stop_close(m);
    launch_close(m);
    join_close(m);
    lease_close(m);
    collect_close(m);
    attempt_done(&m->attempt);
    post_done(&m->to_self);
    post_done(&m->from_self);
    supervisor_close(&m->s);
    free(m->members);
}

int master_run(const struct supervisor_options *options, int *ret_code, struct error *err) {
    struct master m = {
        .check = options->check, .raise = dispatch, .join = {.door = {.watch = {.fd = -1}}}};
    int result = -1;
    join_init(&m);
    collect_init(&m);
    stop_init(&m);
    relaunch_init(&m);
    if (supervisor_open(&m.s, options, &role, &m, err) == 0 && open_members(&m, err) == 0 &&
        attempt_open(&m.attempt, 1, &m.s.job->cluster, err) == 0)
        result = supervisor_run(&m.s, ret_code, err);
    close_all(&m);
    return result;
}
