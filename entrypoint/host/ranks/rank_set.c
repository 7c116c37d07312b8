#include "entrypoint/host/ranks/rank_set.h"

#include "common/argv.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "common/system/cpus.h"
#include "entrypoint/direct/pmi.h"
#include "entrypoint/host/monitor/oom_kills.h"
#include "entrypoint/host/ranks/environment.h"
#include "entrypoint/host/ranks/launch_spec.h"
#include "entrypoint/host/ranks/rank_evidence.h"
#include "entrypoint/host/ranks/rank_slot.h"
#include "entrypoint/os/fd_limits.h"
#include "entrypoint/wire/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A slot exists from the registration of its shim until the attempt is cleared. A rank that has
 * ended is therefore not mistaken for one that never came. The last registration of a host starts
 * all its programs (start_all), and from then on no process may register: programs run under the
 * shims' user and could pass for one.
 *
 * Three descriptors come with the registration: pipes of standard output and standard error, and
 * the memory in which the program may report its progress. Lines go to the log, to the parser of
 * tracebacks and, on request, to files and metrics.
 *
 * A rank ends by its shim's report. The end of the link to the shim counts as the end of the rank
 * only if no report came before. The master's orders are in rank_set_orders.c, and what is read
 * from the ranks' progress in rank_set_progress.c. */

/* Also true of a rank that has ended, until the attempt is cleared. */
bool rank_set_has(const struct rank_set *c, unsigned rank) {
    return rank_slot_find(c->slots, rank) != NULL;
}

/* Lines that were not read are lost. */
static void close_pipes(struct rank_slot *s) {
    pipe_reader_close(&s->out);
    pipe_reader_close(&s->error_out);
}

/* The kernel counts processes that it has killed for lack of memory in this container
 * (monitor/oom_kills.h). More than at the start of the attempt means that one was killed since,
 * though not which. */
enum rank_memory rank_set_memory(const struct rank_set *c) {
    int64_t kills = oom_kills("");
    if (kills < 0 || c->oom_kills < 0)
        return RANK_MEMORY_UNKNOWN;
    return kills > c->oom_kills ? RANK_MEMORY_KILLED : RANK_MEMORY_ENOUGH;
}

/* Names are by the values of the enums, and part of the format of the event log. */
static void record_end(const struct rank_set *c, const struct rank_report *r) {
    static const char *const ends[] = {"exited", "signalled", "vanished"};
    static const char *const causes[] = {"none", "stop", "teardown"};
    static const char *const memory[] = {"unknown", "enough", "killed"};
    event_log_put(c->services->event_log, EVENT_LOG_RANK_ENDED,
                  json_pack("{s:I, s:s, s:i, s:s, s:s}", "rank", (json_int_t)r->rank, "end",
                            ends[r->end], "value", r->value, "cause", causes[r->cause], "memory",
                            memory[r->memory]));
}

/* A program in a pipe ends with the code of the last one in it. A warning is all that can be said:
 * the rank has succeeded by its code. */
static void doubt(const struct rank_slot *s) {
    char text[TRACEBACK_TEXT_SIZE];
    if (rank_exception_is_last(&s->exception, text))
        log_warning(
            "rank %u ended with 0, and its last words are an exception: %s; does a script or a "
            "pipe hide the program's code (set -o pipefail)?",
            s->rank, text);
}

/* All output of the program is in its pipes by now, so lines are complete. Processes that it has
 * left may still print. The report is completed in place, with what only the supervisor knows: the
 * memory, the step, the last lines and the evidence. Evidence is gathered only for an end that
 * needs an explanation. */
static void report(struct rank_slot *s, struct rank_report *r) {
    pipe_reader_drain(&s->out);
    pipe_reader_drain(&s->error_out);
    s->reported = true;
    /* No silence of this rank counts any more. */
    rank_monitor_remove(&s->rank_set->monitor, s);
    r->rank = s->rank;
    r->host = (unsigned)s->rank_set->services->job->cluster.self;
    r->memory = rank_set_memory(s->rank_set);
    r->step = progress_read(&s->progress).step;
    /* The failure file has room for one text, so the ends of both streams are joined. */
    struct tail last;
    _Static_assert(sizeof(last.text) <= sizeof(r->lines), "a report takes all that is kept");
    tail_join(&s->tail, &s->error_tail, &last);
    (void)snprintf(r->lines, sizeof(r->lines), "%s", last.text);
    if (r->end != RANK_EXITED || r->value != 0) {
        /* What the child has printed of GPUs by now may still be in its pipe. */
        xid_watch_drain(&s->rank_set->xids);
        rank_evidence_printed(&s->exception, r);
        rank_evidence_add(&s->rank_set->kernel, r);
        rank_evidence_closed(s->error_out.ended, clock_now(), r);
    } else if (r->cause == RANK_CAUSE_NONE) {
        doubt(s);
    }
    cleanup_json json_t *members = rank_report_json(r);
    rank_sinks_send(&s->rank_set->sinks, MESSAGE_REPORT, members);
    record_end(s->rank_set, r);
}

/* The text was made by the shim, from facts of the kernel and paths. Its length is limited all the
 * same, as it goes into one line of the log. */
static void say_memory(const json_t *message) {
    const char *text = json_string_value(json_object_get(message, "text"));
    if (text == NULL)
        return;
    if (json_is_true(json_object_get(message, "worse")))
        log_warning("%.512s", text);
    else
        log_info("%.512s", text);
}

/* A shim in a barrier stays there until the master says that all have come. The master learns of a
 * host once all of its ranks wait, so that a job of many ranks costs one message for each host. */
static void enter_barrier(struct rank_slot *s) {
    struct rank_set *c = s->rank_set;
    unsigned count = 0;
    s->in_barrier = true;
    for (const struct rank_slot *o = c->slots; o != NULL; o = o->next)
        count += o->in_barrier;
    if (count == c->services->job->cluster.hosts[c->services->job->cluster.self].slots)
        rank_sinks_send(&c->sinks, MESSAGE_BARRIER, NULL);
}

/* The pairs are passed on unread: the master gathers those of all hosts. */
static void send_pairs(const struct rank_set *c, const json_t *message) {
    cleanup_json json_t *members = json_object();
    (void)json_object_set(members, "pairs", json_object_get(message, "pairs"));
    rank_sinks_send(&c->sinks, MESSAGE_PAIRS, members);
}

/* PMI is for ranks that were started without mpirun, and ignored from others: mpirun has its own. A
 * report that does not parse is dropped, and the end of the link then counts as the end of the
 * rank. */
static void shim_said(void *context, const json_t *message) {
    struct rank_slot *s = context;
    struct rank_report r;
    struct error err;
    const struct cluster *cluster = &s->rank_set->services->job->cluster;
    switch (message_kind(message)) {
    case MESSAGE_TEARDOWN:
        s->cause = RANK_CAUSE_TEARDOWN;
        break;
    case MESSAGE_MEMORY:
        say_memory(message);
        break;
    case MESSAGE_PAIRS:
        if (s->rank_set->direct)
            send_pairs(s->rank_set, message);
        break;
    case MESSAGE_BARRIER:
        if (s->rank_set->direct)
            enter_barrier(s);
        break;
    case MESSAGE_REPORT:
        if (rank_report_parse(message, (unsigned)cluster_ranks(cluster), (unsigned)cluster->count,
                              &r, &err) == 0)
            report(s, &r); /* the master decides about a second report */
        break;
    default:
        break;
    }
}

/* A shim that ends without a report, as when somebody kills it, takes its program with it
 * (death_signal in rank.c). The rank has then vanished. */
static void shim_gone(void *context, const struct error *why) {
    struct rank_slot *s = context;
    (void)why;
    link_free(s->link);
    s->link = NULL;
    if (s->reported)
        return;
    struct rank_report r = {.end = RANK_VANISHED, .cause = s->cause, .time = clock_boot()};
    report(s, &r);
}

static const struct link_events events = {.message = shim_said, .closed = shim_gone};

/* The specification is the same for all ranks of this host, and made anew for each attempt, because
 * it names the hosts that are left. What differs between ranks is added by the shim. */
static int make_spec(struct rank_set *c, struct error *err) {
    const struct job *job = c->services->job;
    cleanup_argv struct argv environment = {0};
    if (environment_host(job, c->services->environment, &environment, err) != 0 ||
        environment_add_recorder(c->services, &environment, err) != 0)
        return -1;
    c->threads = environment_threads(job, &environment, cpus_usable(""));
    if (environment_set_threads(&environment, c->threads, err) != 0)
        return -1;
    if (c->spec >= 0)
        (void)close(c->spec);
    traceback_folders_here(&job->program.argv, job->program.directory, &c->folders);
    c->spec = launch_spec_make(&environment, &job->program.argv, err);
    return c->spec >= 0 ? 0 : -1;
}

/* Files that cannot be read, such as the kernel's log, are no error: evidence is then missing. */
int rank_set_open(struct rank_set *c, const struct services *services,
                  const struct rank_sinks *sinks, struct error *err) {
    *c = (struct rank_set){
        .services = services, .sinks = *sinks, .spec = -1, .attempt = 1, .kernel = {.fd = -1}};
    rank_monitor_init(&c->monitor, services, &c->sinks, &c->slots);
    c->oom_kills = oom_kills("");
    kmsg_open(&c->kernel, "/dev/kmsg");
    xid_watch_start(&c->xids, services, &c->kernel);
    return make_spec(c, err);
}

/* Closing the link is what ends a shim that still runs, and with it the program. */
static void free_slot(struct rank_slot *s) {
    close_pipes(s);
    link_free(s->link);
    progress_done(&s->progress);
    free(s);
}

static void free_slots(struct rank_set *c) {
    while (c->slots != NULL) {
        struct rank_slot *s = c->slots;
        c->slots = s->next;
        free_slot(s);
    }
}

void rank_set_done(struct rank_set *c) {
    if (c->services == NULL)
        return;
    rank_monitor_close(&c->monitor);
    free_slots(c);
    xid_watch_close(&c->xids);
    kmsg_close(&c->kernel);
    if (c->spec >= 0)
        (void)close(c->spec);
    c->spec = -1;
}

/* Shims of the old attempt end, as their links close, and those that come late name an attempt that
 * is no longer admitted. */
void rank_set_clear(struct rank_set *c, unsigned attempt) {
    rank_monitor_close(&c->monitor);
    free_slots(c);
    c->attempt = attempt;
}

/* Forgets what was true of the last attempt. Orders to stop are forgotten, too: an attempt begins
 * only if the job is not being stopped. */
int rank_set_begin(struct rank_set *c, struct error *err) {
    c->started = false;
    c->warned = false;
    c->stopping = false;
    c->stop_signal = c->warning = 0;
    c->killed = false;
    c->oom_kills = oom_kills("");
    kmsg_forget(&c->kernel);
    xid_watch_start(&c->xids, c->services, &c->kernel);
    return make_spec(c, err);
}

/* LINE begins with the prefix of host and rank. The log shows it; files and parsers get the
 * program's own words. */
static void take_line(struct rank_slot *s, bool error_out, const char *line, size_t size) {
    const struct rank_set *c = s->rank_set;
    size_t prefix = strlen(s->prefix);
    c->sinks.line(c->sinks.context, line, size);
    event_log_metric_line(c->services->event_log, line + prefix, size - prefix);
    event_log_rank_line(c->services->event_log, s->rank, line + prefix, size - prefix);
    rank_exception_take(&s->exception, error_out, line + prefix, size - prefix);
}

/* The two streams share everything but the tail, of which each has its own. */
static void take_out(void *context, const char *line, size_t size) {
    take_line(context, false, line, size);
}

static void take_error_out(void *context, const char *line, size_t size) {
    take_line(context, true, line, size);
}

/* Takes two descriptors from the link, in the order in which the shim has sent them. On failure
 * both are closed, or belong to a reader that free_slot() closes. */
static int open_pipes(struct rank_slot *s, struct link *link, struct error *err) {
    struct rank_set *c = s->rank_set;
    const struct cluster *cluster = &c->services->job->cluster;
    if (c->services->job->bare_output)
        s->prefix[0] = '\0';
    else
        (void)snprintf(s->prefix, sizeof(s->prefix), "[%s rank %u] ",
                       cluster->hosts[cluster->self].name.text, s->rank);
    int out = link_take_fd(link);
    int error_out = link_take_fd(link);
    if (error_out < 0) {
        if (out >= 0)
            (void)close(out);
        return error_set(err, EXIT_CODE_INTERNAL, "the registration of a rank has no pipes");
    }
    rank_exception_init(&s->exception, &c->folders);
    if (pipe_reader_open(&s->out, c->services->loop, out, s->prefix, &s->tail, take_out, s, err) !=
        0) {
        (void)close(error_out);
        return -1;
    }
    return pipe_reader_open(&s->error_out, c->services->loop, error_out, s->prefix, &s->error_tail,
                            take_error_out, s, err);
}

/* Without it a stall cannot be detected, which is no reason to fail a rank. The descriptor is
 * closed here, and the memory stays mapped. */
static void adopt_progress(struct rank_slot *s, struct link *link) {
    struct error ignored;
    cleanup_fd int fd = link_take_fd(link);
    if (fd >= 0)
        (void)progress_adopt(&s->progress, fd, &ignored);
    rank_monitor_add(&s->rank_set->monitor, s, fd);
}

/* Sends what the shim needs beyond its own environment, with the specification as a descriptor.
 * `open_files` is the limit from before the supervisor raised its own: programs are to run as they
 * would without a launcher. */
static void start(struct rank_slot *s) {
    struct rank_set *c = s->rank_set;
    json_t *message = message_new(MESSAGE_START);
    if (s->link == NULL) {
        json_decref(message);
        return;
    }
    /* The address and port at which rank 0 listens for the others, by the names of torchrun. */
    (void)json_object_set_new(message, "master_addr", json_string(c->master_addr));
    const struct ports *ports = &c->services->job->ports;
    (void)json_object_set_new(message, "master_port", json_integer(ports->master));
    (void)json_object_set_new(message, "coordinator_port", json_integer(ports->coordinator));
    (void)json_object_set_new(message, "open_files", json_integer((json_int_t)fd_limits_before()));
    if (c->direct)
        (void)json_object_set_new(message, "direct", json_true());
    /* Ranks that were started without mpirun find each other by PMI. A single one needs none. */
    if (c->direct && cluster_ranks(&c->services->job->cluster) > 1) {
        char mapping[PMI_MAPPING_SIZE];
        pmi_mapping(&c->services->job->cluster, mapping);
        (void)json_object_set_new(message, "pmi", json_string(mapping));
    }
    if (c->interface[0] != '\0')
        (void)json_object_set_new(message, "interface", json_string(c->interface));
    if (c->services->job->program.directory != NULL)
        (void)json_object_set_new(message, "directory",
                                  json_string(c->services->job->program.directory));
    link_send_fd(s->link, message, c->spec);
}

/* Once in a job, as the number is the same in each attempt with the same ranks. */
static void log_threads(const struct rank_set *c) {
    const struct cluster *cluster = &c->services->job->cluster;
    unsigned ranks = cluster->hosts[cluster->self].slots;
    if (c->threads > 0 && c->attempt == 1)
        log_info("OMP_NUM_THREADS is not set: %d for each of this host's %u ranks, their share of "
                 "its %d CPUs",
                 c->threads, ranks, cpus_usable(""));
}

/* Orders that came before the start are sent right after it: a stop may be faster than the last
 * shim. */
static void start_all(struct rank_set *c) {
    c->started = true;
    log_threads(c);
    for (struct rank_slot *s = c->slots; s != NULL; s = s->next) {
        start(s);
        cleanup_json json_t *members = json_pack("{s:I}", "rank", (json_int_t)s->rank);
        rank_sinks_send(&c->sinks, MESSAGE_RANK_STARTED, members);
        /* A warning comes before the stop that it warns of. */
        if (c->warning != 0)
            rank_slot_order_signal(s, MESSAGE_WARN, c->warning, c->stopping);
        if (c->stop_signal != 0)
            rank_slot_order_signal(s, MESSAGE_STOP, c->stop_signal, true);
        if (c->killed)
            rank_slot_order(s, MESSAGE_KILL);
    }
    rank_monitor_begin(&c->monitor);
}

/* Counts the shims that have registered in this attempt. */
static unsigned count_slots(const struct rank_set *c) {
    unsigned count = 0;
    for (const struct rank_slot *s = c->slots; s != NULL; s = s->next)
        count++;
    return count;
}

/* Returns NULL if RANK may connect, else the reason why not. RANK comes from the message and may be
 * any number. */
static const char *refusal(const struct rank_set *c, int64_t rank, const json_t *hello) {
    const struct cluster *cluster = &c->services->job->cluster;
    if (json_integer_value(json_object_get(hello, "attempt")) != c->attempt)
        return "it is of another attempt";
    if (c->started)
        return "all ranks of this host have started";
    if (rank < 0 || (uint64_t)rank >= cluster_ranks(cluster) ||
        cluster_host_of_rank(cluster, (size_t)rank) != cluster->self)
        return "that is no rank of this host";
    return rank_slot_find(c->slots, rank) != NULL ? "that rank has registered already" : NULL;
}

/* Logged once for each attempt: a program that tries for ever must not fill the log. */
static void send_away(struct rank_set *c, struct link *link, int64_t rank, const char *why) {
    link_free(link);
    if (!c->warned)
        log_warning("a process here tried to register as rank %" PRId64 " and was refused: %s",
                    rank, why);
    c->warned = true;
}

/* The process ID is the shim's own word and serves for evidence alone. A slot without readable
 * pipes is dropped, and its shim ends with the link. */
void rank_set_register(struct rank_set *c, struct link *link, const json_t *hello) {
    const struct cluster *cluster = &c->services->job->cluster;
    struct error err;
    /* A message without a rank is refused like one with a wrong rank. */
    int64_t rank = -1;
    (void)json_member_int(hello, "hello", "rank", &rank, &err);
    const char *why = refusal(c, rank, hello);
    struct rank_slot *s = why == NULL ? calloc(1, sizeof(*s)) : NULL;
    if (s == NULL) {
        send_away(c, link, rank, why != NULL ? why : "out of memory");
        return;
    }
    s->rank_set = c;
    s->opens = -1;
    s->link = link;
    s->rank = (unsigned)rank;
    s->shim = (pid_t)json_integer_value(json_object_get(hello, "pid"));
    link_own(link, &events, s);
    if (open_pipes(s, link, &err) != 0) {
        log_warning("rank %u could not register: %s", s->rank, err.text);
        free_slot(s);
        return;
    }
    adopt_progress(s, link);
    s->next = c->slots;
    c->slots = s;
    if (count_slots(c) == cluster->hosts[cluster->self].slots)
        start_all(c);
}

/* Only for a rank that still runs: the exception of one that has ended is in its report. */
int64_t rank_set_exception(const struct rank_set *c, unsigned rank, int64_t now,
                           char ret[TRACEBACK_TEXT_SIZE]) {
    const struct rank_slot *s = rank_slot_find(c->slots, rank);
    ret[0] = '\0';
    return s != NULL && !s->reported ? rank_exception_lasts(&s->exception, now, ret) : 0;
}
