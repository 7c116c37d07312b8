#include "common/clock.h"
#include "common/file/file.h"
#include "entrypoint/host/mpi_setup.h"
#include "entrypoint/wire/control_socket.h"
#include "tests/support/held_clock.h"
#include "tests/support/ports.h"
#include "tests/support/reaping.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

struct world {
    struct services services;
    struct cluster_host hosts[2];
    struct job job;
    struct loop loop;
    struct reaper reaper;
    struct mpi_install mpi_install;
    struct mpi_setup e;
    struct timer later;
    int held;
    int ended;
    struct error fault;
};

static void done(void *context, const struct error *failure) {
    struct world *w = context;
    if (failure != NULL)
        w->fault = *failure;
    w->ended++;
    loop_end(&w->loop);
}

static char path[] = "PATH=/usr/bin:/bin", no_path[] = "PATH=/nowhere";
static char *environment[] = {path, NULL};

static void open_world(struct world *w, size_t hosts, void (*later)(void *context)) {
    struct error err;
    *w = (struct world){.hosts = {{.slots = 1}, {.slots = 1}}, .held = -1};
    w->job.cluster = (struct cluster){.hosts = w->hosts, .count = hosts};
    CU_ASSERT_EQUAL_FATAL(ports_plan(ports_own(), 1, &w->job.ports, &err), 0);
    w->later = (struct timer){.fire = later, .context = w};
    reaping_open(&w->loop, &w->reaper);
    w->held = ports_occupy(w->job.ports.daemons_v4);
    CU_ASSERT_FATAL(w->held >= 0);
}

static void begin(struct world *w, char *const *own) {
    static struct control_socket local = {.socket = "/nowhere/socket"};
    w->services = (struct services){.loop = &w->loop,
                                    .reaper = &w->reaper,
                                    .job = &w->job,
                                    .environment = own,
                                    .local = &local,
                                    .mpi_install = &w->mpi_install};
    mpi_setup_start(&w->e, &w->services, done, w);
    CU_ASSERT_EQUAL(w->ended, 0);
}

static void run(struct world *w, char *const *own) {
    loop_after(&w->loop, &w->later, 300 * CLOCK_MILLISECOND);
    begin(w, own);
    CU_ASSERT_EQUAL(loop_run(&w->loop, NULL), 0);
}

static void close_world(struct world *w) {
    loop_cancel(&w->loop, &w->later);
    mpi_setup_close(&w->e);
    mpi_install_done(&w->mpi_install);
    if (w->held >= 0)
        (void)close(w->held);
    loop_done(&w->loop);
}

static void release(void *context) {
    struct world *w = context;
    CU_ASSERT_EQUAL(w->ended, 0);
    (void)close(w->held);
    w->held = -1;
}

static void a_port_is_busy_for_a_moment(void) {
    struct world w;
    open_world(&w, 2, release);
    run(&w, environment);
    CU_ASSERT_EQUAL(w.ended, 1);
    CU_ASSERT_EQUAL(w.fault.code, 0);
    CU_ASSERT_PTR_NOT_NULL(w.mpi_install.mpirun);
    close_world(&w);
}

static void a_port_that_stays_busy_is_the_fault(void) {
    struct world w;
    open_world(&w, 2, NULL);
    w.later = (struct timer){0};
    held_clock_begin();
    int64_t begun = clock_now();
    begin(&w, environment);
    CU_ASSERT_EQUAL(loop_run(&w.loop, NULL), 0);
    CU_ASSERT_EQUAL(clock_now() - begun, 5 * CLOCK_SECOND);
    held_clock_end();
    CU_ASSERT_EQUAL(w.ended, 1);
    CU_ASSERT_EQUAL(w.fault.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(w.fault.text, "RINGMASTER_PORT");
    close_world(&w);
}

static char *nowhere[] = {no_path, NULL};

static void no_mpirun_is_the_fault_of_a_job_that_needs_it(void) {
    struct world w;
    open_world(&w, 2, NULL);
    w.job.settings.launcher = SETTINGS_LAUNCHER_MPIRUN;
    begin(&w, nowhere);
    CU_ASSERT_EQUAL(loop_run(&w.loop, NULL), 0);
    CU_ASSERT_EQUAL(w.ended, 1);
    CU_ASSERT_EQUAL(w.fault.code, EXIT_CODE_NOT_FOUND);
    ASSERT_CONTAINS(w.fault.text, "mpirun");
    close_world(&w);
}

/* Open MPI's ports, one of which is busy here, do not matter then. */
static void without_mpirun_ranks_are_started_directly(void) {
    struct world w;
    open_world(&w, 2, NULL);
    begin(&w, nowhere);
    CU_ASSERT_EQUAL(loop_run(&w.loop, NULL), 0);
    CU_ASSERT_EQUAL(w.ended, 1);
    CU_ASSERT_EQUAL(w.fault.code, 0);
    CU_ASSERT_EQUAL(w.job.launcher.kind, LAUNCHER_DIRECT);
    CU_ASSERT_PTR_NULL(w.mpi_install.mpirun);
    close_world(&w);
}

static int choose(const char *options, enum launcher_kind *ret) {
    struct world w;
    struct error err;
    open_world(&w, 2, NULL);
    w.job.request.mpi_options.options = options;
    int result = mpi_setup_choose(&w.job, nowhere, &err);
    *ret = w.job.launcher.kind;
    close_world(&w);
    return result;
}

static void variables_for_ranks_need_no_mpirun(void) {
    static const char *const needs[] = {"--bind-to core", "--map-by slot",
                                        "-x A=1 --mca btl tcp,self"};
    enum launcher_kind kind = LAUNCHER_MPIRUN;
    CU_ASSERT_EQUAL(choose("-x NCCL_DEBUG=INFO --NCCL_DEBUG=WARN", &kind), 0);
    CU_ASSERT_EQUAL(kind, LAUNCHER_DIRECT);
    CU_ASSERT_EQUAL(choose("", &kind), 0);
    CU_ASSERT_EQUAL(kind, LAUNCHER_DIRECT);
    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
        CU_ASSERT_EQUAL(choose(needs[i], &kind), -1);
}

static void end(void *context) {
    struct world *w = context;
    loop_end(&w->loop);
}

static void drop(void *context) {
    struct world *w = context;
    release(w);
    mpi_setup_drop(&w->e);
    w->later = (struct timer){.fire = end, .context = w};
    loop_after(&w->loop, &w->later, CLOCK_SECOND);
}

/* The setup is dropped while it waits, as when a verdict arrives. */
static void nothing_is_found_for_who_wants_it_no_longer(void) {
    struct world w;
    open_world(&w, 2, drop);
    run(&w, environment);
    CU_ASSERT_EQUAL(w.ended, 0);
    CU_ASSERT_PTR_NULL(w.mpi_install.mpirun);
    close_world(&w);
}

static void one_rank_needs_neither(void) {
    struct world w;
    open_world(&w, 1, NULL);
    begin(&w, environment);
    CU_ASSERT_EQUAL(loop_run(&w.loop, NULL), 0);
    CU_ASSERT_EQUAL(w.ended, 1);
    CU_ASSERT_EQUAL(w.fault.code, 0);
    close_world(&w);
}

static const struct listener_events events = {0};

/* Returns true if the link leads to this program. */
static bool leads_here(const struct control_socket *local) {
    char agent[CONTROL_SOCKET_FILE_SIZE];
    char self[PATH_MAX];
    char there[PATH_MAX] = "";
    control_socket_file(local, "agent", agent);
    return file_self(self, sizeof(self), NULL) == 0 &&
           readlink(agent, there, sizeof(there) - 1) > 0 && strcmp(there, self) == 0;
}

static void the_link_is_made_and_made_again(void) {
    static struct loop loop;
    static struct control_socket local;
    char agent[CONTROL_SOCKET_FILE_SIZE];
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(control_socket_open(&local, &loop, unit_temp_dir(), &events, NULL, &err),
                          0);
    CU_ASSERT_EQUAL(mpi_setup_link_agent(&local, &err), 0);
    CU_ASSERT_TRUE(leads_here(&local));
    CU_ASSERT_EQUAL(mpi_setup_link_agent(&local, &err), 0); /* it is there */
    control_socket_file(&local, "agent", agent);
    CU_ASSERT_EQUAL(unlink(agent), 0);
    CU_ASSERT_EQUAL(symlink("/elsewhere", agent), 0);
    CU_ASSERT_EQUAL(mpi_setup_renew_agent(&local, &err), 0);
    CU_ASSERT_TRUE(leads_here(&local));
    control_socket_close(&local);
    loop_done(&loop);
}

UNIT_SUITE("host.mpi_setup", UNIT(a_port_is_busy_for_a_moment),
           UNIT(a_port_that_stays_busy_is_the_fault),
           UNIT(no_mpirun_is_the_fault_of_a_job_that_needs_it),
           UNIT(without_mpirun_ranks_are_started_directly),
           UNIT(variables_for_ranks_need_no_mpirun),
           UNIT(nothing_is_found_for_who_wants_it_no_longer), UNIT(one_rank_needs_neither),
           UNIT(the_link_is_made_and_made_again))
