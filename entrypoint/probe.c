#include "entrypoint/probe.h"

#include "common/argv.h"
#include "common/file.h"
#include "entrypoint/host/executor.h"
#include "entrypoint/host/ranks/environment.h"

#include <signal.h>

/* Where a running job keeps them lies in a folder with a name of its own each time. */
static const char agent[] = "/run/ringmaster-run-XXXXXX/agent";
static const char shared[] = "/dev/shm/ringmaster-run-XXXXXXXXXXXXXXXX-1";
static const char hostfile[] = "/run/ringmaster-run-XXXXXX/hostfile";

struct asking {
    struct loop loop;
    struct reaper reaper;
    struct probe *probe;
};

static void on_signal(void *context, int number) {
    struct asking *a = context;
    (void)number;
    (void)reaper_run(&a->reaper);
}

static void found(void *context, const struct error *failure) {
    struct asking *a = context;
    a->probe->complete = failure == NULL;
    loop_end(&a->loop);
}

static int ask(struct asking *a, char *const *environment, struct argv *ours, struct error *err) {
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    if (loop_init(&a->loop, err) != 0 || loop_signals(&a->loop, &set, on_signal, a, err) != 0 ||
        environment_daemon(environment, "", ours, err) != 0 ||
        mpi_install_find(&a->probe->tools, &a->loop, &a->reaper, argv_get_env(ours, "PATH"), ours,
                         found, a, err) != 0)
        return -1;
    return loop_run(&a->loop, err);
}

void probe_run(const struct job *job, char *const *environment, struct probe *ret) {
    struct asking a = {.probe = ret};
    struct error ignored;
    char warning[INTERFACE_WARNING_SIZE];
    cleanup_argv struct argv ours = {0};
    *ret = (struct probe){0};
    if (file_self(ret->self, sizeof(ret->self), &ignored) == 0 &&
        interface_choose(job->cluster.interface, NULL, &ret->interface, warning, &ignored) == 0)
        (void)ask(&a, environment, &ours, &ignored);
    loop_done(&a.loop);
    ret->request = (struct openmpi_request){.version = ret->tools.version,
                                            .cluster = &job->cluster,
                                            .interface = &ret->interface,
                                            .ports = &job->ports,
                                            .agent = agent,
                                            .shared = shared,
                                            .mpirun = ret->tools.mpirun,
                                            .hostfile = hostfile,
                                            .ringmaster = ret->self,
                                            .dead_seconds = job->settings.dead_seconds,
                                            .custom = job->mpi_options.options};
}

void probe_done(struct probe *p) {
    mpi_install_done(&p->tools);
}
