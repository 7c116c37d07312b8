#include "entrypoint/host/executor.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "entrypoint/host/ranks/rank_slot.h"
#include "entrypoint/wire/frame.h"
#include "tests/support/addresses.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static struct loop loop;
static struct reaper reaper;
static struct process_tree sweep;
static struct control_socket local;
static struct mpi_install mpi_install;
static struct console console;
static struct failure_writer failure;
static struct executor host;
static struct job job;
static json_t *told;
static size_t waiting;
static int output[2];
static struct output_upload output_upload;
static struct services services = {.loop = &loop,
                                   .reaper = &reaper,
                                   .sweep = &sweep,
                                   .job = &job,
                                   .local = &local,
                                   .mpi_install = &mpi_install,
                                   .console = &console,
                                   .failure = &failure};

static void send_message(void *context, json_t *message) {
    (void)context;
    (void)json_array_append_new(told, message);
}

static size_t queued(void *context) {
    (void)context;
    return waiting;
}

static const struct listener_events no_listener_events = {0};
static const struct executor_options options = {
    .output_upload = &output_upload, .send = send_message, .queued = queued};

static void open_host(const char *logs) {
    static char path[] = "PATH=/usr/bin:/bin";
    static char hosts[] = "RINGMASTER_HOSTS=algo-1,algo-2";
    static char self[] = "RINGMASTER_HOST=algo-2";
    static char base[] = "SAGEMAKER_BASE_DIR=/no/such/base";
    static char variable[64];
    static char *environment[] = {path, hosts, self, base, variable, NULL};
    static const char *const words[] = {"--", "/bin/true", NULL};
    static char daemon[] = "/usr/bin/orted";
    struct error err = {0};
    (void)snprintf(variable, sizeof(variable), "RINGMASTER_LOGS=%s", logs);
    told = json_array();
    mpi_install = (struct mpi_install){.daemon = daemon, .version = {OPENMPI_4_1, 4, 1, 4}};
    CU_ASSERT_EQUAL_FATAL(job_read(words, environment, &job, &err), 0);
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err) | pipe(output), 0);
    CU_ASSERT_EQUAL_FATAL(
        control_socket_open(&local, &loop, unit_temp_dir(), &no_listener_events, NULL, &err), 0);
    console_init(&console, &loop, output[1]);
    failure_writer_open(&failure, &reaper, unit_temp_dir());
    services.environment = environment;
    CU_ASSERT_EQUAL_FATAL(executor_open(&host, &services, &options, &err), 0);
}

static void close_host(void) {
    executor_done(&host);
    console_done(&console);
    control_socket_close(&local);
    loop_done(&loop);
    job_done(&job);
    json_decref(told);
    (void)close(output[0]);
    (void)close(output[1]);
}

static const char *told_text(size_t index, const char *key) {
    const char *text = json_string_value(json_object_get(json_array_get(told, index), key));
    return text != NULL ? text : "";
}

static void nothing_but_this_jobs_daemon_is_started(void) {
    struct net_address loopback = address_of("127.0.0.1");
    char warning[INTERFACE_WARNING_SIZE];
    struct error err = {0};
    static const char *const commands[] = {
        "rm -rf /", "orted; touch /tmp/x", "", "orted $(id)",
        " orted -mca ess \"env\" -mca plm_rsh_agent \"/bin/sh\""};
    open_host("host");
    CU_ASSERT_EQUAL(executor_meet_master(&host, &loopback, &loopback, warning, &err), 0);
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        json_t *order = frame_new("launch");
        (void)json_object_set_new(order, "command", json_string(commands[i]));
        (void)json_object_set_new(order, "attempt", json_integer(1));
        executor_order(&host, order);
        json_decref(order);
        CU_ASSERT_EQUAL(json_array_size(told), i + 1);
        CU_ASSERT_STRING_EQUAL(told_text(i, "type"), "daemon");
        CU_ASSERT(strlen(told_text(i, "text")) > 0);
        CU_ASSERT_FALSE(host.daemon.task.running);
    }
    close_host();
}

/* mpirun runs the agent: a link of that name to another program would be run in its place. */
static void an_agent_that_leads_elsewhere_is_replaced(void) {
    char agent[CONTROL_SOCKET_FILE_SIZE];
    char self[CONTROL_SOCKET_FILE_SIZE];
    char there[CONTROL_SOCKET_FILE_SIZE] = "";
    struct error err = {0};
    struct executor second;
    open_host("host");
    control_socket_file(&local, "agent", agent);
    CU_ASSERT_EQUAL(unlink(agent), 0);
    CU_ASSERT_EQUAL(symlink("/bin/true", agent), 0);
    CU_ASSERT_EQUAL(executor_open(&second, &services, &options, &err), 0);
    CU_ASSERT_EQUAL(file_self(self, sizeof(self), &err), 0);
    CU_ASSERT(readlink(agent, there, sizeof(there) - 1) > 0);
    CU_ASSERT_STRING_EQUAL(there, self);
    executor_done(&second);
    CU_ASSERT_EQUAL(unlink(agent), 0);
    CU_ASSERT_EQUAL(mkdir(agent, 0700), 0); /* a folder cannot be replaced by a link */
    CU_ASSERT_EQUAL(executor_open(&second, &services, &options, &err), -1);
    ASSERT_CONTAINS(err.text, agent);
    CU_ASSERT_EQUAL(err.os_errno, EEXIST);
    executor_done(&second);
    close_host();
}

static json_t *about(const char *type, int attempt) {
    json_t *message = frame_new(type);
    (void)json_object_set_new(message, "attempt", json_integer(attempt));
    return message;
}

static void order(const char *type, int attempt) {
    json_t *message = about(type, attempt);
    executor_order(&host, message);
    json_decref(message);
}

/* A shim's hello, with the pipes of a program that has ended. */
static struct link *shim;
static int shims_ends[8];
static size_t shims;

static void said(void *context, const json_t *message) {
    (void)context;
    rank_set_register(&host.rank_set, shim, message);
    loop_end(&loop);
}

static void hello_of(int attempt, int rank) {
    static const struct link_events events = {.message = said};
    int pair[2];
    int pipes[2];
    struct error err;
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    CU_ASSERT_EQUAL_FATAL(pipe(pipes), 0);
    json_t *message = about("hello", attempt);
    (void)json_object_set_new(message, "rank", json_integer(rank));
    CU_ASSERT_EQUAL(link_send_fds(pair[0], message, pipes, 2, &err), 0);
    shim = link_new(&loop, pair[1], NULL, true, &events, NULL, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(shim);
    CU_ASSERT_EQUAL(loop_run(&loop, &err), 0);
    json_decref(message);
    shims_ends[shims++] = pair[0];
    (void)close(pipes[0]);
    (void)close(pipes[1]);
}

static void close_shims(void) {
    while (shims > 0)
        (void)close(shims_ends[--shims]);
}

static void hello(int attempt) {
    hello_of(attempt, 1);
}

/* This host has ranks 1 and 2 of the three; rank 0 belongs to the other host. */
static void programs_start_when_all_ranks_have_registered_and_none_registers_later(void) {
    open_host("host");
    job.cluster.hosts[1].slots = 2;
    hello_of(1, 0);
    hello_of(1, 3);
    CU_ASSERT_PTR_NULL(host.rank_set.slots);
    hello_of(1, 1);
    hello_of(1, 1);
    CU_ASSERT_FALSE(host.rank_set.started);
    CU_ASSERT_EQUAL(json_array_size(told), 0);
    hello_of(1, 2);
    CU_ASSERT(host.rank_set.started);
    CU_ASSERT_EQUAL(json_array_size(told), 2);
    const struct rank_slot *last = host.rank_set.slots;
    hello_of(1, 2);
    hello_of(1, 0);
    CU_ASSERT_PTR_EQUAL(host.rank_set.slots, last);
    close_shims();
    close_host();
}

static void orders_and_shims_of_another_attempt_count_for_nothing(void) {
    open_host("host");
    order("launch", 2);
    order("attempt", 2);
    order("clear", 3); /* the attempt after the next one */
    order("clear", 1);
    CU_ASSERT_EQUAL(json_array_size(told), 0);
    CU_ASSERT_EQUAL(host.rank_set.attempt, 1);
    CU_ASSERT_FALSE(sweep.running);
    hello(2);
    CU_ASSERT_PTR_NULL(host.rank_set.slots);
    order("clear", 2);
    CU_ASSERT_EQUAL(host.rank_set.attempt, 2);
    CU_ASSERT(sweep.running);
    hello(1);
    CU_ASSERT_PTR_NULL(host.rank_set.slots);
    order("launch", 1);
    CU_ASSERT_EQUAL(json_array_size(told), 0);
    loop_cancel(&loop, &sweep.timer);
    close_shims();
    close_host();
}

static void the_next_attempt_knows_who_is_gone(void) {
    open_host("host");
    CU_ASSERT_EQUAL(cluster_ranks(&job.cluster), 2);
    order("clear", 2);
    loop_cancel(&loop, &sweep.timer);
    json_t *message = about("attempt", 2);
    (void)json_object_set_new(message, "gone", json_pack("[i, i, s]", 7, 0, "x"));
    job.cluster.hosts[1].gone = true; /* this host believed so, but the master knows better */
    executor_order(&host, message);   /* there is no host 7, and the master is never gone */
    CU_ASSERT_EQUAL(cluster_hosts_left(&job.cluster), 2);
    (void)json_object_set_new(message, "gone", json_pack("[i]", 1));
    executor_order(&host, message);
    json_decref(message);
    CU_ASSERT_EQUAL(cluster_hosts_left(&job.cluster), 1);
    close_host();
}

/* Until it takes part in an attempt, it may become the master of a new job. */
static void with_a_part_in_an_attempt_it_knows_of_the_job(void) {
    struct role_state role_state = {.again = true, .back = true, .anew = true};
    open_host("host");
    services.role_state = &role_state;
    executor_await(&host);
    order("clear", 2);
    order("launch", 2);
    CU_ASSERT(role_state.anew && role_state.back);
    CU_ASSERT_FALSE(role_state_knows(&role_state));
    order("attempt", 2);
    CU_ASSERT(role_state_knows(&role_state));
    CU_ASSERT_FALSE(role_state.back);
    CU_ASSERT_EQUAL(role_state.attempt, 2);
    services.role_state = NULL;
    close_host();
}

static void show_step(uint64_t step) {
    struct error err;
    cleanup_fd int fd = progress_create(&err);
    CU_ASSERT_EQUAL_FATAL(progress_adopt(&host.rank_set.slots->progress, fd, &err), 0);
    progress_mark(&host.rank_set.slots->progress, step, 0);
}

/* It is known from the master's last order and, if the master is lost before the next one, from
 * what this host has seen since. */
static void how_far_attempts_have_come_is_known_to_whom_may_lead_the_next(void) {
    struct role_state role_state = {0};
    open_host("host");
    services.role_state = &role_state;
    json_t *message = about("attempt", 1);
    (void)json_object_set_new(message, "course", json_pack("[i, i]", 50, 2));
    executor_order(&host, message);
    json_decref(message);
    CU_ASSERT_EQUAL(role_state.progress.best_step, 50);
    CU_ASSERT_EQUAL(role_state.progress.fruitless, 2);
    executor_end_attempt(&host, 1); /* no rank had registered in it */
    CU_ASSERT_EQUAL(role_state.progress.fruitless, 2);
    hello(1);
    show_step(60);
    order("clear", 2);
    loop_cancel(&loop, &sweep.timer);
    CU_ASSERT_EQUAL(role_state.progress.best_step, 60);
    CU_ASSERT_EQUAL(role_state.progress.fruitless, 0);
    host.rank_set.started = false;
    hello(2);
    show_step(60);
    executor_end_attempt(&host, 0);
    CU_ASSERT_PTR_NULL(host.rank_set.slots);
    CU_ASSERT_EQUAL(role_state.progress.fruitless, 1);
    services.role_state = NULL;
    close_shims();
    close_host();
}

/* The host's wait for an attempt is over: it may be one of a job's first hosts, like any new
 * one. */
static void it_waits_for_no_attempt_any_more(void) {
    open_host("host");
    executor_await(&host);
    CU_ASSERT(executor_awaits(&host));
    executor_await_none(&host);
    CU_ASSERT_FALSE(executor_awaits(&host));
    CU_ASSERT_EQUAL(host.rank_set.attempt, 1);
    close_host();
}

static void the_agent_is_a_link_to_this_program(void) {
    char agent[CONTROL_SOCKET_FILE_SIZE];
    char self[CONTROL_SOCKET_FILE_SIZE];
    char target[CONTROL_SOCKET_FILE_SIZE] = "";
    struct openmpi_request request;
    struct error err;
    open_host("host");
    mpi_daemon_request(&host.daemon, agent, &request);
    CU_ASSERT_EQUAL(file_self(self, sizeof(self), &err), 0);
    CU_ASSERT(readlink(agent, target, sizeof(target) - 1) > 0);
    CU_ASSERT_STRING_EQUAL(target, self);
    CU_ASSERT_STRING_EQUAL(strrchr(agent, '/'), "/agent");
    close_host();
}

static void lines_go_to_the_master_too_where_it_wants_them(void) {
    open_host("master");
    executor_tool_line(&host, "[algo-2 orted] one\n", 19);
    CU_ASSERT_EQUAL(json_array_size(told), 1);
    CU_ASSERT_STRING_EQUAL(told_text(0, "text"), "[algo-2 orted] one\n");
    waiting = LINK_QUEUE_MAX; /* the link is full: lines are dropped, the link stays */
    executor_tool_line(&host, "[algo-2 orted] two\n", 19);
    CU_ASSERT_EQUAL(json_array_size(told), 1);
    waiting = 0;
    executor_tool_line(&host, "[algo-2 orted] six\n", 19);
    CU_ASSERT_EQUAL(json_array_size(told), 2);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_array_get(told, 1), "dropped")), 1);
    close_host();
    open_host("host");
    executor_tool_line(&host, "[algo-2 orted] one\n", 19);
    CU_ASSERT_EQUAL(json_array_size(told), 0);
    CU_ASSERT(console_waiting(&console) > 0);
    close_host();
}

UNIT_SUITE("host.executor",
           UNIT(programs_start_when_all_ranks_have_registered_and_none_registers_later),
           UNIT(orders_and_shims_of_another_attempt_count_for_nothing),
           UNIT(the_next_attempt_knows_who_is_gone),
           UNIT(with_a_part_in_an_attempt_it_knows_of_the_job),
           UNIT(how_far_attempts_have_come_is_known_to_whom_may_lead_the_next),
           UNIT(it_waits_for_no_attempt_any_more), UNIT(nothing_but_this_jobs_daemon_is_started),
           UNIT(an_agent_that_leads_elsewhere_is_replaced),
           UNIT(the_agent_is_a_link_to_this_program),
           UNIT(lines_go_to_the_master_too_where_it_wants_them))
