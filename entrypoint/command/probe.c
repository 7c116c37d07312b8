#include "entrypoint/command/probe.h"

#include "common/argv.h"
#include "common/file/file.h"
#include "entrypoint/host/executor.h"
#include "entrypoint/host/mpi_setup.h"
#include "entrypoint/host/ranks/environment.h"
#include "entrypoint/job/key.h"
#include "entrypoint/os/run_as.h"

#include <signal.h>

/* Paths like those of a running job, which are in a folder with a new name each time. */
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
        mpi_install_find(&a->probe->mpi_install, &a->loop, &a->reaper, argv_get_env(ours, "PATH"),
                         ours, found, a, err) != 0)
        return -1;
    return loop_run(&a->loop, err);
}

/* Jobs of several hosts need a key. A bad key is reported to a single host, too. */
static int check_key(struct job *job, struct error *err) {
    const struct settings *settings = &job->settings;
    const struct key_places usual = {0};
    bool given = settings->key != NULL || settings->key_file != NULL;
    bool needed = job->cluster.count > 1 || settings->require_key;
    struct error why = {0};
    struct key key = {0};
    if (!given && !needed)
        return 0;
    int made = key_make(settings, &job->cluster, &usual, &key, &why);
    key_done(&key);
    if (made == 0)
        return 0;
    if (needed && (given || settings->require_key)) {
        *err = why;
        return -1;
    }
    warnings_add(&job->warnings, "%s", why.text);
    return 0;
}

static int choose_launcher(struct job *job, char *const *environment, struct error *err) {
    struct error why = {0};
    if (job->cluster.count == 0 || mpi_setup_choose(job, environment, &why) == 0)
        return 0;
    if (why.code != EXIT_CODE_NOT_FOUND) {
        *err = why;
        return -1;
    }
    warnings_add(&job->warnings, "%s", why.text);
    return 0;
}

int probe_settings(struct job *job, char *const *environment, struct error *err) {
    if (run_as_choose(job->settings.user, err) != 0 || check_key(job, err) != 0)
        return -1;
    return choose_launcher(job, environment, err);
}

static int choose_interface(struct job *job, struct interface *ret) {
    const struct cluster *c = &job->cluster;
    struct error ignored;
    char warning[INTERFACE_WARNING_SIZE];
    if (interface_choose(c->interface, NULL, ret, warning, &ignored) != 0)
        return -1;
    if (warning[0] != '\0' && c->count == 1)
        warnings_add(&job->warnings, "%s", warning);
    else if (warning[0] != '\0')
        warnings_add(&job->warnings,
                     "the configured network interface %s is not there, or not up with an address; "
                     "a job takes the one that leads to the other hosts",
                     c->interface);
    return 0;
}

void probe_run(struct job *job, char *const *environment, struct probe *ret) {
    struct asking a = {.probe = ret};
    struct error ignored;
    cleanup_argv struct argv ours = {0};
    *ret = (struct probe){0};
    bool known = file_self(ret->self, sizeof(ret->self), &ignored) == 0 &&
                 choose_interface(job, &ret->interface) == 0;
    if (job->launcher.kind == LAUNCHER_DIRECT)
        ret->complete = known;
    else if (known)
        (void)ask(&a, environment, &ours, &ignored);
    loop_done(&a.loop);
    ret->request = (struct openmpi_request){.version = ret->mpi_install.version,
                                            .cluster = &job->cluster,
                                            .interface = &ret->interface,
                                            .ports = &job->ports,
                                            .agent = agent,
                                            .shared = shared,
                                            .mpirun = ret->mpi_install.mpirun,
                                            .hostfile = hostfile,
                                            .ringmaster = ret->self,
                                            .dead_seconds = job->settings.dead_seconds,
                                            .custom = job->request.mpi_options.options};
}

void probe_done(struct probe *p) {
    mpi_install_done(&p->mpi_install);
}
