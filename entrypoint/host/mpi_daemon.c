#include "entrypoint/host/mpi_daemon.h"

#include "common/cleanup.h"
#include "entrypoint/host/ranks/environment.h"
#include "entrypoint/mpi/addresses.h"
#include "entrypoint/mpi/daemon_command.h"
#include "entrypoint/mpi/mpi_install.h"
#include "entrypoint/os/run_as.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

void mpi_daemon_request(const struct mpi_daemon *d, char agent[CONTROL_SOCKET_FILE_SIZE],
                        struct openmpi_request *ret) {
    const struct job *job = d->services->job;
    const struct mpi_install *mpi_install = d->services->mpi_install;
    control_socket_file(d->services->local, "agent", agent);
    *ret = (struct openmpi_request){.version = mpi_install->version,
                                    .cluster = &job->cluster,
                                    .interface = d->interface,
                                    .ports = &job->ports,
                                    .agent = agent,
                                    .shared = d->session_dirs.shared,
                                    .mpirun = mpi_install->mpirun,
                                    .dead_seconds = job->settings.dead_seconds,
                                    .custom = job->request.mpi_options.options};
}

void mpi_daemon_kill(struct mpi_daemon *d) {
    subprocess_signal(&d->task, SIGKILL);
}

void mpi_daemon_drop(struct mpi_daemon *d) {
    subprocess_done(&d->task);
}

int mpi_daemon_open_scratch(struct mpi_daemon *d, struct error *err) {
    return session_dirs_open(&d->session_dirs, d->services->local, d->run, d->rank_set->attempt,
                             err);
}

void mpi_daemon_close_scratch(struct mpi_daemon *d) {
    session_dirs_close(&d->session_dirs);
}

int mpi_daemon_environment(const struct mpi_daemon *d, struct argv *ret, struct error *err) {
    if (environment_daemon(d->services->environment, d->services->local->socket, ret, err) != 0 ||
        environment_add_attempt(ret, d->rank_set->attempt, d->run, err) != 0)
        return -1;
    if (openmpi_daemon_topology(d->services->job->request.mpi_options.options, ret, err) != 0 ||
        run_as_add(ret, err) != 0)
        return -1;
    return argv_set_env(ret, "TMPDIR", d->session_dirs.temporary, err);
}

int mpi_daemon_start(struct mpi_daemon *d, const char *command, struct error *err) {
    cleanup_argv struct argv argv = {0};
    cleanup_argv struct argv environment = {0};
    char agent[CONTROL_SOCKET_FILE_SIZE];
    char prefix[LINE_SPLITTER_PREFIX_SIZE];
    struct openmpi_request request;
    struct openmpi_options options;
    const struct services *with = d->services;
    const struct mpi_install *mpi_install = with->mpi_install;
    const struct cluster *cluster = &with->job->cluster;
    const struct ports *ports = &with->job->ports;
    char node[ADDRESSES_NODE_SIZE];
    if (d->task.running)
        return error_set(err, EXIT_CODE_INTERNAL, "a daemon runs here already");
    if (mpi_install->daemon == NULL || d->services->job->launcher.kind != LAUNCHER_MPIRUN)
        return error_set(err, EXIT_CODE_CONFIG, "ranks of this host are started without mpirun");
    if (mpi_daemon_open_scratch(d, err) != 0)
        return -1;
    mpi_daemon_request(d, agent, &request);
    if (openmpi_options(&request, &options, err) != 0)
        return -1;
    struct daemon_command gate = {.series = mpi_install->version.series,
                                  .daemon = mpi_install->daemon,
                                  .options = &options,
                                  .hosts = cluster_hosts_left(cluster),
                                  .master = *d->master,
                                  .port = net_address_is_ipv4(d->master) ? ports->daemons_v4
                                                                         : ports->daemons_v6};
    addresses_node(cluster, cluster->self, node);
    if (daemon_command_check(&gate, command, strlen(command), &argv, err) != 0 ||
        mpi_daemon_environment(d, &environment, err) != 0 ||
        openmpi_daemon_name(gate.series, node, &environment, err) != 0)
        return -1;
    (void)snprintf(prefix, sizeof(prefix), "[%s %s] ", cluster->hosts[cluster->self].name.text,
                   openmpi_daemon(mpi_install->version.series));
    struct subprocess_options task = {.prefix = prefix,
                                      .line = d->line,
                                      .ended = d->ended,
                                      .context = d->context,
                                      .as_user = true,
                                      .hold_user_signals = true};
    subprocess_done(&d->task);
    return subprocess_start(&d->task, with->loop, with->reaper, &argv, &environment, &task, err);
}
