#include "common/cleanup.h"
#include "entrypoint/host/mpi_daemon.h"
#include "entrypoint/mpi/mpi_install.h"
#include "tests/support/addresses.h"
#include "tests/support/unit.h"

#include <string.h>

static struct loop loop;
static struct reaper reaper;
static struct control_socket local;
static struct mpi_install mpi_install;
static struct job job;
static struct rank_set rank_set = {.attempt = 3};
static struct interface interface = {.name = "lo"};
static struct net_address master;
static struct services services = {
    .loop = &loop, .reaper = &reaper, .job = &job, .local = &local, .mpi_install = &mpi_install};
static struct mpi_daemon d = {.services = &services,
                              .run = "r1",
                              .rank_set = &rank_set,
                              .interface = &interface,
                              .master = &master};

static const struct listener_events no_listener_events = {0};

static void open_daemon(void) {
    static char path[] = "PATH=/usr/bin:/bin";
    static char hosts[] = "RINGMASTER_HOSTS=algo-1,algo-2";
    static char self[] = "RINGMASTER_HOST=algo-2";
    static char *environment[] = {path, hosts, self, NULL};
    static const char *const words[] = {"--", "/bin/true", NULL};
    static char daemon[] = "/usr/bin/orted", mpirun[] = "/usr/bin/mpirun";
    struct error err = {0};
    mpi_install =
        (struct mpi_install){.daemon = daemon, .mpirun = mpirun, .version = {OPENMPI_4_1, 4, 1, 4}};
    master = interface.address = address_of("127.0.0.1");
    CU_ASSERT_EQUAL_FATAL(job_read(words, environment, &job, &err), 0);
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, &err), 0);
    CU_ASSERT_EQUAL_FATAL(
        control_socket_open(&local, &loop, unit_temp_dir(), &no_listener_events, NULL, &err), 0);
    services.environment = environment;
    job.launcher.kind = LAUNCHER_MPIRUN;
}

static void close_daemon(void) {
    mpi_daemon_drop(&d);
    mpi_daemon_close_scratch(&d);
    control_socket_close(&local);
    loop_done(&loop);
    job_done(&job);
}

static void ranks_without_mpirun_have_no_daemon(void) {
    struct error err = {0};
    open_daemon();
    job.launcher.kind = LAUNCHER_DIRECT;
    CU_ASSERT_EQUAL(mpi_daemon_start(&d, "orted", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "without mpirun");
    job.launcher.kind = LAUNCHER_MPIRUN;
    d.task.running = true;
    CU_ASSERT_EQUAL(mpi_daemon_start(&d, "orted", &err), -1);
    ASSERT_CONTAINS(err.text, "runs here already");
    d.task.running = false;
    close_daemon();
}

static void another_command_than_the_expected_one_starts_nothing(void) {
    static const char *const commands[] = {"rm -rf /", "orted; touch /tmp/x", ""};
    open_daemon();
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(mpi_daemon_start(&d, commands[i], &err), -1);
        CU_ASSERT(err.text[0] != '\0');
        CU_ASSERT_FALSE(d.task.running);
    }
    close_daemon();
}

static void the_environment_has_the_attempt_and_its_folder(void) {
    cleanup_argv struct argv environment = {0};
    struct error err = {0};
    open_daemon();
    CU_ASSERT_EQUAL_FATAL(mpi_daemon_open_scratch(&d, &err), 0);
    CU_ASSERT_EQUAL_FATAL(mpi_daemon_environment(&d, &environment, &err), 0);
    CU_ASSERT_STRING_EQUAL(argv_get_env(&environment, "RINGMASTER_ATTEMPT"), "3");
    CU_ASSERT_STRING_EQUAL(argv_get_env(&environment, "TMPDIR"), d.session_dirs.temporary);
    CU_ASSERT(d.session_dirs.temporary[0] == '/');
    close_daemon();
}

static void the_request_names_the_agent_beside_the_socket(void) {
    char agent[CONTROL_SOCKET_FILE_SIZE];
    char expected[CONTROL_SOCKET_FILE_SIZE];
    struct openmpi_request request;
    open_daemon();
    mpi_daemon_request(&d, agent, &request);
    (void)snprintf(expected, sizeof(expected), "%s/agent", local.folder);
    CU_ASSERT_STRING_EQUAL(request.agent, expected);
    CU_ASSERT_STRING_EQUAL(request.mpirun, "/usr/bin/mpirun");
    CU_ASSERT_PTR_EQUAL(request.interface, &interface);
    CU_ASSERT_EQUAL(request.version.series, OPENMPI_4_1);
    close_daemon();
}

UNIT_SUITE("host.mpi_daemon", UNIT(ranks_without_mpirun_have_no_daemon),
           UNIT(another_command_than_the_expected_one_starts_nothing),
           UNIT(the_environment_has_the_attempt_and_its_folder),
           UNIT(the_request_names_the_agent_beside_the_socket))
