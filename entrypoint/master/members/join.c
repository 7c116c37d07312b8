#include "entrypoint/master/members/join.h"

#include "common/buf.h"
#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "common/str.h"
#include "entrypoint/host/fd_budget.h"
#include "entrypoint/job/cluster/seats.h"
#include "entrypoint/master/members/fetch_wait.h"
#include "entrypoint/master/members/leader_query.h"
#include "entrypoint/master/members/lease.h"
#include "entrypoint/master/members/name_lookup.h"
#include "entrypoint/outcome/fence.h"
#include "entrypoint/wire/message.h"
#include "entrypoint/wire/tls.h"

#include <stdlib.h>
#include <unistd.h>

/* A host connects, perhaps long before it can take part, and says how far its downloads are
 * (fetch_wait.c). Its join comes when it has everything, or a fault. It is admitted when the master
 * knows what hosts have to match, and that no other first host exists; until then the message waits
 * in pending_join.
 *
 * A fault of any host makes the job impossible, but does not end it at once: hosts that have yet to
 * come would wait for a master that is gone. They get a shorter time to join and to learn of it. A
 * stop works likewise.
 *
 * The time to join is not one deadline for all. Each host has its own, which moves with its
 * downloads (fetch_wait_first); the timer fires at the earliest and is set again if that has moved.
 */

enum {
    ANNOUNCE_SECONDS = 5, /* between two lines about missing hosts */
    FAULT_SECONDS = 30,   /* for hosts to join and learn that there is no job */
    HURRY_SECONDS = 5,    /* for the same after a stop */
    BUSY_SECONDS = 30,    /* between two lines while all are here, and some fetch */
};

/* The lookup of missing names goes along: a name that does not resolve looks like a host that is
 * late. */
static void announce(void *context) {
    struct master *m = context;
    char missing[FETCH_WAIT_NAMES_MAX];
    char busy[FETCH_WAIT_NAMES_MAX];
    bool any_missing = fetch_wait_missing(m, missing) > 0;
    bool any_busy = fetch_wait_busy(m, busy) > 0;
    log_info("%zu of %zu hosts are ready%s%s%s%s", m->join.count, m->s.job->cluster.count,
             any_missing ? ", missing" : "", missing, any_busy ? ", fetching:" : "", busy);
    if (any_missing)
        name_lookup_start(m);
    loop_after(&m->s.loop, &m->join.announce,
               (any_missing ? ANNOUNCE_SECONDS : BUSY_SECONDS) * CLOCK_SECOND);
}

/* Names the missing host that was refused for its key: that is why it is missing, rather than late.
 */
static void blame_rejected_peer(struct master *m, int host, const struct net_address *address,
                                const char *missing) {
    char peer[NET_ADDRESS_TEXT];
    net_address_text(address, peer);
    (void)error_set(&m->fault, EXIT_CODE_KEY_REFUSED,
                    "missing%s; %s at %s was refused: " TLS_ANOTHER_KEY, missing,
                    supervisor_host_name(&m->s, (size_t)host), peer);
}

/* Makes a download without progress the fault. The text is the host's own last word about its
 * progress. */
static void blame_fetching(struct master *m, const struct member *b) {
    const char *text = b->fetching.mark.text;
    m->fault_host = (int)b->index;
    (void)error_set(&m->fault, EXIT_CODE_NOT_READY, "%s: downloads have stalled for %lld s%s%s",
                    member_name(b), (long long)m->s.job->settings.ready_seconds,
                    text[0] != '\0' ? "; last progress: " : "", text);
}

/* Makes missing hosts the fault. LATE is the first one. The order goes from the most telling reason
 * to the least: a stalled download, a wrong key, and only then mere absence. */
static void blame_late(struct master *m, const struct member *late) {
    char missing[FETCH_WAIT_NAMES_MAX];
    struct net_address address = {0};
    int rejected = rejected_peers_host(&m->accept.rejected_peers, &address);
    m->fault_host = -1;
    (void)fetch_wait_missing(m, missing);
    if (late->fetching.busy)
        blame_fetching(m, late);
    else if (rejected >= 0)
        blame_rejected_peer(m, rejected, &address, missing);
    else
        (void)error_set(&m->fault, EXIT_CODE_NOT_READY,
                        "only %zu of %zu hosts within %lld s, missing%s", m->join.count,
                        m->s.job->cluster.count, (long long)m->s.job->settings.ready_seconds,
                        missing);
}

/* Hosts with progress have moved their own deadline. */
static void deadline_passed(void *context) {
    struct master *m = context;
    if (m->check) { /* a missing host gets a row */
        master_raise(m, EVENT_READY_DEADLINE);
        return;
    }
    int64_t due = 0;
    const struct member *late = fetch_wait_first(m, &due);
    /* After a stop or a fault the deadline is final: no host is blamed for being late to a job that
     * will not run. */
    bool ending = m->attempt.stop_asked != 0 || m->fault.code != 0;
    if (!ending && late == NULL)
        return;
    if (!ending && m->leader_query.leader > 0) /* they have a job, and this host fetches for it */
        due = clock_now() + m->s.job->settings.ready_seconds * CLOCK_SECOND;
    if (!ending && due > clock_now()) {
        loop_at(&m->s.loop, &m->join.deadline, due);
        return;
    }
    if (!ending)
        blame_late(m, late);
    loop_cancel(&m->s.loop, &m->join.announce); /* the verdict names the missing hosts */
    master_raise(m, EVENT_READY_DEADLINE);
}

/* Returns true for a master that has taken over from a lost one. */
static bool gathers(const struct master *m) {
    return m->phase == PHASE_GATHERING;
}

/* With failover: where ringmaster is not PID 1, its end says nothing of the ranks. */
static void warn_of_other_inits(const struct master *m) {
    size_t first = m->s.job->cluster.count;
    size_t count = 0;
    for (size_t i = 0; i < m->s.job->cluster.count; i++) {
        if (m->members[i].is_pid1)
            continue;
        first = count == 0 ? i : first;
        count++;
    }
    if (count == 0 || !role_state_is_on(m->s.role_state))
        return;
    log_info("ringmaster is not PID 1 of its container on %s%s: if such a host is killed, the next "
             "attempt waits %lld s instead of a second",
             supervisor_host_name(&m->s, first), count > 1 ? " and others" : "",
             (long long)m->s.job->settings.dead_seconds + FENCE_ENDING_SECONDS);
}

/* Once, at the start: relaunch.c tells of later changes. */
static void log_spares(const struct master *m) {
    const struct cluster *c = &m->s.job->cluster;
    if (c->spares > 0)
        log_info("%zu of the %zu hosts run ranks; %zu spare%s wait%s to take the place of a lost "
                 "one",
                 seats_count(c), c->count, c->spares, STR_PLURAL(c->spares),
                 c->spares == 1 ? "s" : "");
}

/* Raises ALL_JOINED once the last host is here, after the timers and the search for a leader have
 * ended. */
static void begin_if_complete(struct master *m) {
    if (m->join.count < m->s.job->cluster.count)
        return;
    loop_cancel(&m->s.loop, &m->join.deadline);
    loop_cancel(&m->s.loop, &m->join.announce);
    leader_query_close(m);
    /* For hosts that connect again all at once after an outage, and for those that come too late.
     */
    warn_of_other_inits(m);
    log_spares(m);
    size_t most = fd_budget_pending(&m->s.job->cluster);
    size_t wanted = LISTENER_PENDING_LEAST + m->s.job->cluster.count;
    listener_set_room(&m->accept.listener, wanted < most ? wanted : most);
    master_raise(m, EVENT_ALL_JOINED);
}

/* All hosts that must learn of a stop or fault have done so: the deadline can be short. It is not
 * shortened while the search for duplicates of this host is pending, as no host is admitted before.
 */
static void shorten_if_all_are_here(struct master *m) {
    if ((m->fault.code == 0 && m->attempt.stop_asked == 0) || m->duplicate_name.pending)
        return;
    for (size_t i = 1; i < m->s.job->cluster.count; i++)
        if (m->members[i].link == NULL)
            return;
    loop_at(&m->s.loop, &m->join.deadline, clock_now());
}

/* Keeps a fault of a host during a check, where it is one row of many; the first fault of a host
 * counts. Without memory for it the log has the fault alone. */
static void keep_own_fault(struct member *b, const struct error *fault) {
    if (b->fault == NULL && (b->fault = malloc(sizeof(*b->fault))) != NULL)
        *b->fault = *fault;
    log_warning("%s: %s", member_name(b), fault->text);
}

/* Only the first fault counts for the job. */
void join_fault(struct master *m, const struct error *fault, int host) {
    if (m->fault.code != 0)
        return;
    if (m->check) { /* the others have the time that they had */
        keep_own_fault(&m->members[host], fault);
        return;
    }
    m->fault = *fault;
    m->fault_host = host;
    log_error("%s: %s", supervisor_host_name(&m->s, (size_t)host), fault->text);
    int64_t left = m->s.job->settings.ready_seconds < FAULT_SECONDS
                       ? m->s.job->settings.ready_seconds
                       : FAULT_SECONDS;
    loop_after(&m->s.loop, &m->join.deadline, left * CLOCK_SECOND);
    shorten_if_all_are_here(m);
}

/* Returns the exit code of the fault in a join, 0 if there is none. A code outside one byte cannot
 * be an exit code, and is no fault. */
static int fault_code(const json_t *message) {
    json_int_t code = json_integer_value(json_object_get(message, "fault_code"));
    return code > 0 && code <= UINT8_MAX ? (int)code : 0;
}

/* The two clocks differ in use: BOOT orders events of hosts, CLOCK only shows in a check that a
 * machine's time is wrong. */
void join_clocks(struct member *b, const json_t *message) {
    int64_t boot = -1;
    int64_t clock = -1;
    (void)json_member_int(message, "join", "boot", &boot, NULL);
    (void)json_member_int(message, "join", "clock", &clock, NULL);
    if (boot >= 0 && boot <= RANK_REPORT_TIME_MAX)
        b->offset = boot - clock_boot(); /* until a heartbeat tells it better */
    if (clock >= 0)
        b->skew = clock - clock_wall();
}

/* A fault that the host tells takes precedence over what its facts show. Facts are compared only if
 * this host itself is sound, and in a check not at all: there each difference is a row of its own
 * (check_rows.c). */
void join_weigh(struct member *b, const json_t *message, struct error *fault) {
    struct host_info ours;
    int code = fault_code(message);
    const char *text = NULL;
    (void)json_member_string(message, "join", "fault_text", &text, NULL);
    b->is_pid1 = json_is_true(json_object_get(message, "pid1"));
    b->exited = false;
    host_info_gather(b->master->s.job, &b->master->s.mpi_install, &ours);
    bool sound = host_info_parse(message, &b->info, fault) == 0;
    if (code > 0)
        (void)error_set(fault, (enum exit_code)code, "%s",
                        text != NULL && text[0] != '\0' ? text : "a fault");
    else if (sound && b->master->s.fault.code == 0 && !b->master->check)
        (void)host_info_compare(&ours, &b->info, fault);
    /* The launch and later attempts find the host at this address. */
    b->master->s.job->cluster.hosts[b->index].address = b->info.address;
    json_int_t port = json_integer_value(json_object_get(message, "examine_port"));
    b->examine_port = port > 0 && port <= UINT16_MAX ? (uint16_t)port : 0;
}

/* Open MPI accepts connections only from addresses that their hosts know as their own. The host
 * tells the source address that it sees; this host sees where the connection comes from. */
static void warn_of_translation(struct member *b, const json_t *message) {
    const char *text = NULL;
    struct net_address own;
    char seen[NET_ADDRESS_TEXT];
    (void)json_member_string(message, "join", "address", &text, NULL);
    b->sends = (struct net_address){0};
    if (text == NULL || !net_address_parse(text, &own) || net_address_equal(&own, &b->address))
        return;
    b->sends = own;
    net_address_text(&b->address, seen);
    log_warning("%s sends from %s and arrives from %s: something between the hosts translates "
                "addresses (a masquerade rule, NAT), and Open MPI drops such connections",
                member_name(b), text, seen);
}

/* The welcome goes out first, before any fault is looked for: the host then waits for the verdict,
 * which names the fault. */
static void admit(struct member *b, const json_t *message) {
    struct master *m = b->master;
    b->joined = true;
    m->join.count++;
    link_send(b->link, master_greeting(m, MESSAGE_WELCOME));
    lease_greet(b);
    warn_of_translation(b, message);
    struct error fault = {0};
    join_weigh(b, message, &fault);
    if (fault.code != 0)
        join_fault(m, &fault, (int)b->index);
    log_info("%s is here, %zu of %zu", member_name(b), m->join.count,
             cluster_hosts_left(&m->s.job->cluster) + seats_spares_left(&m->s.job->cluster));
    event_log_put(
        &m->s.event_log, EVENT_LOG_JOINED,
        json_pack("{s:s, s:I}", "which", member_name(b), "count", (json_int_t)m->join.count));
    if (gathers(m))
        master_raise_word(b, EVENT_PEER_ARRIVED, message);
    else
        begin_if_complete(m);
}

/* Returns true if the master knows what the host has to match, or need not, and that this is the
 * only first host. A host with a fault need not match anything. */
static bool may_be_taken_in(const struct master *m, const json_t *message) {
    return !m->duplicate_name.pending && (m->join.begun || fault_code(message) != 0);
}

/* A message of a host that has joined already, or of one that comes too late, is ignored. */
void join_receive(struct member *b, const json_t *message) {
    struct master *m = b->master;
    struct fetch_progress mark;
    if ((m->phase != PHASE_JOINING && !gathers(m)) || b->joined)
        return;
    if (message_kind(message) != MESSAGE_JOIN) {
        fetch_progress_parse(message, &mark);
        fetch_wait_receive(b, &mark);
        return;
    }
    join_clocks(b, message);
    if (may_be_taken_in(m, message)) {
        admit(b, message);
    } else {
        json_decref(b->pending_join);
        b->pending_join = json_incref((json_t *)(uintptr_t)message);
    }
}

/* MESSAGE is the first one on the link, and is handled like any later one. */
void join_meet(struct member *b, struct link *link, const struct net_address *peer,
               const json_t *message) {
    struct master *m = b->master;
    if (b->link != NULL) { /* silent by now: it was started again before we saw its link end */
        link_free(b->link);
        join_left(b);
    }
    b->link = link;
    b->address = *peer;
    link_own(link, m->accept.events, b);
    link_set_silence(link, m->s.job->settings.dead_seconds);
    member_heard(b);
    join_receive(b, message);
    if (m->phase == PHASE_JOINING)
        shorten_if_all_are_here(m);
}

/* The host may come again; its time to join runs on (fetch_wait_left). */
void join_left(struct member *b) {
    struct master *m = b->master;
    bool was_here = b->joined || b->pending_join != NULL || b->fetching.busy;
    m->join.count -= b->joined;
    b->joined = b->is_standby = false;
    b->trip = 0;
    json_decref(b->pending_join);
    b->pending_join = NULL;
    fetch_wait_left(b);
    if (was_here)
        log_warning("%s has disconnected", member_name(b));
}

void join_shorten(struct master *m) {
    loop_after(&m->s.loop, &m->join.deadline, HURRY_SECONDS * CLOCK_SECOND);
    shorten_if_all_are_here(m);
}

void join_init(struct master *m) {
    m->fault_host = -1;
    m->join.deadline = (struct timer){.fire = deadline_passed, .context = m};
    m->join.announce = (struct timer){.fire = announce, .context = m};
}

/* Draws a run ID that differs from any other run's, also of a job of the same name. */
static int name_run(struct master *m, struct error *err) {
    char run[ATTEMPT_RUN_SIZE];
    if (master_draw_name(run, err) != 0)
        return -1;
    executor_set_run(&m->s.host, run);
    return 0;
}

/* A stop that came before has set its own, shorter deadline, which stays. */
void join_open(struct master *m) {
    const struct job *job = m->s.job;
    log_info("waiting for %zu host%s on port %u", job->cluster.count - 1,
             STR_PLURAL(job->cluster.count - 1), job->ports.control);
    loop_after(&m->s.loop, &m->join.announce, ANNOUNCE_SECONDS * CLOCK_SECOND);
    if (m->attempt.stop_asked == 0)
        loop_after(&m->s.loop, &m->join.deadline, job->settings.ready_seconds * CLOCK_SECOND);
}

/* Admitting may change the phase, for instance to RUNNING with the last host, so it is compared
 * each time. */
static void admit_those_who_asked(struct master *m) {
    for (size_t i = 1; i < m->s.job->cluster.count; i++) {
        struct member *b = &m->members[i];
        if (b->pending_join == NULL || !may_be_taken_in(m, b->pending_join))
            continue;
        cleanup_json json_t *message = b->pending_join;
        b->pending_join = NULL;
        if (m->phase == PHASE_JOINING || gathers(m))
            admit(b, message);
    }
}

/* Called when the search for duplicates is over, and when a takeover begins. */
void join_go_on(struct master *m) {
    admit_those_who_asked(m);
    if (m->phase == PHASE_JOINING)
        shorten_if_all_are_here(m);
}

/* The run ID is drawn before any host is admitted, as the welcome carries it. A fault of this host
 * becomes the job's. Each step may change the phase, and the next one is then left out. */
int join_begin(struct master *m, struct error *err) {
    if (name_run(m, err) != 0)
        return -1;
    /* From here on hosts are admitted as they come. */
    m->join.begun = true;
    m->members[0].joined = true;
    m->members[0].is_pid1 = getpid() == 1;
    m->join.count++;
    host_info_gather(m->s.job, &m->s.mpi_install, &m->members[0].info);
    if (m->s.fault.code != 0)
        join_fault(m, &m->s.fault, 0);
    admit_those_who_asked(m);
    if (m->phase == PHASE_JOINING)
        leader_query_go_on(m);
    if (m->phase == PHASE_JOINING)
        begin_if_complete(m);
    return 0;
}

void join_close(struct master *m) {
    loop_cancel(&m->s.loop, &m->join.deadline);
    loop_cancel(&m->s.loop, &m->join.announce);
    name_lookup_close(m);
}
