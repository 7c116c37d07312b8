/* What the master orders, in frames: the first byte is 'x' for an order of `ringmaster check`, as
 * the child that carries it out reads it; otherwise a list of orders to one host of three follows:
 * an attempt and the hosts that are gone, a committed view, files that prove a shared folder, ranks
 * to be stopped or let go, a daemon to be started, all to be cleared or uploaded. No daemon or
 * upload exists here: only what works without them is done. */
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/json/json.h"
#include "entrypoint/host/executor.h"
#include "entrypoint/host/preflight/preflight_child.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/frames.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HOSTS = 3, SELF = 1, TURNS = 50 };

static struct loop loop;
static struct reaper reaper;
static struct process_tree sweep;
static struct control_socket local;
static struct console console;
static struct failure_writer failure;
static struct event_log event_log;
static struct output_upload output_upload;
static struct mpi_install mpi_install;
static struct role_state role_state;
static struct executor host;
static struct services services;
static struct job job;
static size_t told;

static void send_message(void *context, json_t *message) {
    (void)context;
    CHECK(message != NULL);
    told++;
    json_decref(message);
}

static size_t queued(void *context) {
    (void)context;
    return 0;
}

static const struct listener_events no_listener_events = {0};

static void close_house(void) {
    role_state_close(&role_state);
    executor_done(&host);
    control_socket_close(&local);
    loop_done(&loop);
    job_done(&job);
}

/* Works only at the first call; the folder is in memory. */
static void open_house(void) {
    static char path[] = "PATH=/usr/bin:/bin", names[] = "RINGMASTER_HOSTS=a,b,c",
                self[] = "RINGMASTER_HOST=b", base[] = "SAGEMAKER_BASE_DIR=/proc/nowhere",
                failover[] = "RINGMASTER_FAILOVER=1", shrink[] = "RINGMASTER_SHRINK=1",
                restarts[] = "RINGMASTER_RESTARTS=9", nothing[] = "/no/such/program";
    static char *environment[] = {path, names, self, base, failover, shrink, restarts, NULL};
    static const char *const words[] = {"--", "/bin/true", NULL};
    if (loop.epoll_fd > 0)
        return;
    CHECK(job_read(words, environment, &job, NULL) == 0 && job.cluster.self == SELF);
    CHECK(loop_init(&loop, NULL) == 0);
    CHECK(control_socket_open(&local, &loop, NULL, &no_listener_events, NULL, NULL) == 0);
    console_init(&console, &loop, STDOUT_FILENO);
    mpi_install = (struct mpi_install){.mpirun = nothing, .daemon = nothing};
    mpi_install.version.series = OPENMPI_4_1;
    failure_writer_open(&failure, &reaper, "/proc/nowhere");
    services = (struct services){.loop = &loop,
                                 .reaper = &reaper,
                                 .sweep = &sweep,
                                 .job = &job,
                                 .environment = environment,
                                 .local = &local,
                                 .mpi_install = &mpi_install,
                                 .console = &console,
                                 .failure = &failure,
                                 .event_log = &event_log,
                                 .role_state = &role_state};
    output_upload.services = &services;
    const struct executor_options options = {
        .output_upload = &output_upload, .send = send_message, .queued = queued};
    CHECK(role_state_open(&role_state, &job, NULL) == 0);
    CHECK(executor_open(&host, &services, &options, NULL) == 0);
    executor_set_run(&host, "0123456789abcdef");
    (void)atexit(close_house);
}

/* The state at the beginning of a job. */
static void begin_anew(void) {
    role_state_close(&role_state);
    CHECK(role_state_open(&role_state, &job, NULL) == 0);
    for (size_t i = 0; i < HOSTS; i++)
        job.cluster.hosts[i].gone = false;
    rank_set_clear(&host.rank_set, 1);
    output_upload.open = true;
    told = 0;
}

static void end_turn(void *context) {
    loop_end(context);
}

/* What an order has left to the loop, as far as a moment goes. */
static void turn(void) {
    struct timer end = {.fire = end_turn, .context = &loop};
    loop.ended = false;
    loop_after(&loop, &end, CLOCK_MILLISECOND);
    CHECK(loop_run(&loop, NULL) == 0);
    loop_cancel(&loop, &end);
}

static void order(const json_t *message) {
    if (!frames_heard("worker", message))
        return;
    executor_order(&host, message);
    CHECK(!host.daemon.task.running);
    CHECK(!job.cluster.hosts[0].gone && cluster_hosts_left(&job.cluster) >= 1);
    CHECK(host.rank_set.attempt >= 1 && role_state.quorum.accepted_count <= QUORUM_ACCEPTED_MAX);
    CHECK(role_state.progress.best_step <= INT64_MAX &&
          role_state.progress.fruitless <= RESTART_FRUITLESS_MAX);
    for (size_t place = HOSTS; place < CLUSTER_HOSTS_MAX; place++)
        CHECK(!host_set_has(&quorum_last(&role_state.quorum)->hosts, place));
}

static void try_orders(const json_t *list) {
    open_house();
    begin_anew();
    for (size_t i = 0; i < json_array_size(list) && i < 64; i++)
        if (json_is_object(json_array_get(list, i)))
            order(json_array_get(list, i));
    for (int i = 0; sweep.running && i < TURNS; i++)
        turn();
    if (sweep.running)
        loop_cancel(&loop, &sweep.timer);
    sweep.running = false;
    CHECK(told <= 2 * json_array_size(list));
    resource_wait_cancel(&host.resource_wait);
    /* The gatherer and the check of the shared directory are closed, too. */
    gatherer_end(&host.gatherer);
    shared_dir_check_close(&host.proof);
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

static void try_examine(const json_t *object) {
    struct network_check_options o;
    struct error err = {0};
    cleanup_free struct network_check_peer *peers = NULL;
    if (preflight_child_read(object, &o, &peers, &err) != 0) {
        CHECK(err.text[0] != '\0');
        return;
    }
    CHECK(o.count >= 1 && o.count <= CLUSTER_HOSTS_MAX && o.self < o.count && o.peers == peers);
    CHECK(strlen(o.ask) == NETWORK_CHECK_WORD_SIZE - 1 &&
          strlen(o.answer) == NETWORK_CHECK_WORD_SIZE - 1);
    for (size_t i = 0; i < o.count; i++)
        CHECK(peers[i].port == 0 || net_address_is_set(&peers[i].address));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_t *given = NULL;
    if (size == 0 || json_parse((const char *)data + 1, size - 1, "orders", &given, NULL) != 0)
        return 0;
    check_without_log();
    if (data[0] == 'x')
        try_examine(given);
    else
        try_orders(given);
    json_decref(given);
    return 0;
}
