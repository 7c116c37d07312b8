#include "common/buf.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "entrypoint/check.h"
#include "entrypoint/frame.h"
#include "entrypoint/master.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

enum {
    ANNOUNCE_SECONDS = 5,
    FAULT_SECONDS = 30,   /* for hosts to join and hear that there is no job */
    REFUSED_SECONDS = 10, /* between two lines about strangers */
    MISSING_MAX = 512,    /* bytes of names */
};

static void missing_names(const struct master *m, char text[MISSING_MAX]) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 1; i < m->s.job->cluster.count; i++) {
        if (m->members[i].joined)
            continue;
        const char *name = supervisor_host_name(&m->s, i);
        if (used + strlen(name) + 6 > MISSING_MAX) {
            (void)snprintf(text + used, MISSING_MAX - used, " ...");
            return;
        }
        used += (size_t)snprintf(text + used, MISSING_MAX - used, " %s", name);
    }
}

static void announce(void *context) {
    struct master *m = context;
    char missing[MISSING_MAX];
    missing_names(m, missing);
    log_info("%zu of %zu hosts are here, missing%s", m->joined, m->s.job->cluster.count, missing);
    loop_after(&m->s.loop, &m->announce, ANNOUNCE_SECONDS * CLOCK_SECOND);
}

static void conclude_fault(struct master *m) {
    struct verdict verdict;
    verdict_from_error(&m->fault, &m->s.job->cluster, m->fault_host, &verdict);
    collect_conclude(m, &verdict);
}

static void deadline_passed(void *context) {
    struct master *m = context;
    char missing[MISSING_MAX];
    char peer[INET_ADDRSTRLEN] = "";
    struct error err = {0};
    struct verdict verdict;
    if (m->attempt.stop_asked != 0) {
        collect_judge(m);
        return;
    }
    if (m->fault.code != 0) {
        conclude_fault(m);
        return;
    }
    missing_names(m, missing);
    (void)inet_ntop(AF_INET, &m->refused_peer, peer, sizeof(peer));
    if (m->refused)
        (void)error_set(&err, EXIT_CODE_KEY_REFUSED,
                        "missing%s; a host at %s was refused: another image build or key", missing,
                        peer);
    else
        (void)error_set(&err, EXIT_CODE_NOT_READY, "only %zu of %zu hosts within %lld s, missing%s",
                        m->joined, m->s.job->cluster.count,
                        (long long)m->s.job->settings.ready_seconds, missing);
    verdict_from_error(&err, &m->s.job->cluster, -1, &verdict);
    collect_conclude(m, &verdict);
}

static int launch(struct master *m, struct error *err) {
    const struct cluster *cluster = &m->s.job->cluster;
    const struct in_addr none = {0};
    char warning[INTERFACE_WARNING_SIZE] = "";
    const struct in_addr *peer = cluster->count > 1 ? &m->members[1].address : NULL;
    if (host_meet_master(&m->s.host, none, peer, warning, err) != 0)
        return -1;
    if (warning[0] != '\0')
        log_warning("%s", warning);
    if (m->check)
        return check_conclude(m, err);
    return launch_begin(m, err);
}

static void begin_if_complete(struct master *m) {
    struct error err = {0};
    if (m->joined < m->s.job->cluster.count)
        return;
    loop_cancel(&m->s.loop, &m->ready_deadline);
    loop_cancel(&m->s.loop, &m->announce);
    if (m->attempt.stop_asked != 0) {
        collect_judge(m);
        return;
    }
    if (m->fault.code == 0 && launch(m, &err) != 0) {
        m->fault = err;
        m->fault_host = 0;
    }
    if (m->fault.code != 0)
        conclude_fault(m);
}

static void refuse(struct link *link, enum exit_code code, const char *text) {
    json_t *message = frame_new("refuse");
    (void)json_object_set_new(message, "code", json_integer(code));
    (void)json_object_set_new(message, "text", json_string(text));
    link_send(link, message);
    link_flush(link);
    link_free(link);
}

void join_fault(struct master *m, const struct error *fault, int host) {
    if (m->fault.code != 0)
        return;
    m->fault = *fault;
    m->fault_host = host;
    log_error("%s: %s", supervisor_host_name(&m->s, (size_t)host), fault->text);
    int64_t left = m->s.job->settings.ready_seconds < FAULT_SECONDS
                       ? m->s.job->settings.ready_seconds
                       : FAULT_SECONDS;
    loop_after(&m->s.loop, &m->ready_deadline, left * CLOCK_SECOND);
}

/* What the host says of itself: a fault of its own, or that it does not fit. */
static void weigh(struct member *b, const json_t *message) {
    struct error fault = {0};
    struct facts ours;
    int64_t code = 0;
    const char *text = NULL;
    (void)json_member_int(message, "join", "fault_code", &code, NULL);
    (void)json_member_string(message, "join", "fault_text", &text, NULL);
    facts_gather(b->master->s.job, &b->master->s.tools, &ours);
    if (code > 0 && code < 256)
        (void)error_set(&fault, (enum exit_code)code, "%s", text != NULL ? text : "a fault");
    else if (facts_parse(message, &b->facts, &fault) == 0 && b->master->s.fault.code == 0)
        (void)facts_compare(&ours, &b->facts, &fault);
    b->master->s.job->cluster.hosts[b->index].address = b->facts.address;
    b->offset = b->facts.clock - clock_wall(); /* until a heartbeat tells it better */
    if (fault.code != 0)
        join_fault(b->master, &fault, (int)b->index);
}

/* Open MPI takes connections from addresses alone that their hosts know as their own. */
static void warn_of_translation(const struct member *b, struct in_addr peer,
                                const json_t *message) {
    const char *text = NULL;
    struct in_addr own;
    char seen[INET_ADDRSTRLEN] = "";
    (void)json_member_string(message, "join", "address", &text, NULL);
    if (text == NULL || inet_pton(AF_INET, text, &own) != 1 || own.s_addr == peer.s_addr)
        return;
    (void)inet_ntop(AF_INET, &peer, seen, sizeof(seen));
    log_warning("%s sends from %s and arrives from %s: a firewall between the hosts translates "
                "addresses (a masquerade rule?), and MPI drops such connections",
                supervisor_host_name(&b->master->s, b->index), text, seen);
}

static void admit(struct master *m, struct member *b, struct link *link, struct in_addr peer,
                  const json_t *message) {
    if (b->link != NULL) { /* it was started again before we saw its first link end */
        link_free(b->link);
        join_left(b);
    }
    b->link = link;
    b->address = peer;
    b->joined = true;
    m->joined++;
    link_own(link, &master_member_events, b);
    lease_heard(b);
    json_t *welcome = frame_new("welcome");
    (void)json_object_set_new(welcome, "run", json_string(m->s.host.run));
    link_send(link, welcome);
    warn_of_translation(b, peer, message);
    weigh(b, message);
    log_info("%s is here, %zu of %zu", supervisor_host_name(&m->s, b->index), m->joined,
             m->s.job->cluster.count);
    begin_if_complete(m);
}

static void arrived(void *context, struct link *link, struct in_addr peer, const json_t *message) {
    struct master *m = context;
    struct host_name name;
    const char *text = json_string_value(json_object_get(message, "host"));
    int host = -1;
    if (strcmp(frame_type(message), "join") == 0 && text != NULL &&
        host_name_parse(text, strlen(text), &name, NULL) == 0)
        host = cluster_find(&m->s.job->cluster, &name);
    if (host < 1)
        refuse(link, EXIT_CODE_CONFIG, "no host of this job has that name");
    else if (m->phase != MASTER_JOINING)
        refuse(link, EXIT_CODE_HOST_LOST, "the job has begun without it");
    else
        admit(m, &m->members[host], link, peer, message);
}

static void stranger(void *context, struct in_addr peer, const struct error *why) {
    struct master *m = context;
    char text[INET_ADDRSTRLEN] = "";
    int64_t now = clock_now();
    m->refused = true;
    m->refused_peer = peer;
    if (m->refused_said != 0 && now - m->refused_said < REFUSED_SECONDS * CLOCK_SECOND)
        return;
    m->refused_said = now;
    (void)inet_ntop(AF_INET, &peer, text, sizeof(text));
    log_warning("a peer at %s was refused: %s", text, why->text);
}

static const struct door_events door_events = {arrived, stranger};

void join_left(struct member *b) {
    struct master *m = b->master;
    if (!b->joined)
        return;
    b->joined = false;
    b->trip = 0;
    m->joined--;
    log_warning("%s has gone again", supervisor_host_name(&m->s, b->index));
}

/* On the interface that the platform names, where that exists; else on all, as no other host can be
 * asked yet which one leads to it. */
static struct in_addr listening_address(const struct master *m) {
    struct in_addr any = {.s_addr = htonl(INADDR_ANY)};
    const char *configured = m->s.job->cluster.interface;
    char warning[INTERFACE_WARNING_SIZE] = "";
    struct interface interface;
    if (configured[0] == '\0' || interface_choose(configured, NULL, &interface, warning, NULL) != 0)
        return any;
    return warning[0] == '\0' ? interface.address : any;
}

void join_init(struct master *m) {
    m->ready_deadline = (struct timer){.fire = deadline_passed, .context = m};
    m->announce = (struct timer){.fire = announce, .context = m};
}

/* Unlike any other run's, also of a job of the same name. */
static int name_run(struct master *m, struct error *err) {
    uint64_t number = 0;
    char run[ATTEMPT_RUN_SIZE];
    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        return error_set_errno(err, EXIT_CODE_INTERNAL, "a name for this run");
    (void)snprintf(run, sizeof(run), "%016" PRIx64, number);
    host_set_run(&m->s.host, run);
    return 0;
}

int join_open(struct master *m, struct error *err) {
    const struct job *job = m->s.job;
    if (name_run(m, err) != 0)
        return -1;
    m->members[0].joined = true;
    m->joined = 1;
    facts_gather(job, &m->s.tools, &m->members[0].facts);
    if (job->cluster.count > 1) {
        int listener = door_listen(listening_address(m), job->ports.control, err);
        if (listener < 0 ||
            door_open(&m->door, &m->s.loop, listener, m->s.tls, &door_events, m, err) != 0)
            return -1;
        log_info("waiting for %zu hosts on port %u", job->cluster.count - 1, job->ports.control);
        loop_after(&m->s.loop, &m->announce, ANNOUNCE_SECONDS * CLOCK_SECOND);
        if (m->attempt.stop_asked == 0)
            loop_after(&m->s.loop, &m->ready_deadline, job->settings.ready_seconds * CLOCK_SECOND);
    }
    if (m->s.fault.code != 0)
        join_fault(m, &m->s.fault, 0);
    begin_if_complete(m);
    return 0;
}

void join_close(struct master *m) {
    loop_cancel(&m->s.loop, &m->ready_deadline);
    loop_cancel(&m->s.loop, &m->announce);
    door_close(&m->door);
}
