#include "entrypoint/host/mpi_setup.h"

#include "common/clock.h"
#include "common/file/file.h"
#include "entrypoint/host/ranks/environment.h"
#include "entrypoint/job/needed_libraries.h"
#include "entrypoint/mpi/custom_options.h"
#include "entrypoint/mpi/rank_environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Variables for ranks need no mpirun: each host sets them itself. A text that is wrong is reported
 * when it is used. */
static bool has_options(const char *text) {
    struct custom_options custom = {0};
    bool needs = text != NULL && custom_options_parse(text, &custom, NULL) == 0 &&
                 (custom.bind_to[0] != '\0' || custom.map_by[0] != '\0' ||
                  rank_environment_has_mpi(&custom.environment));
    custom_options_done(&custom);
    return needs;
}

int mpi_setup_choose(struct job *job, char *const *environment, struct error *err) {
    char library[NEEDED_LIBRARY_SIZE] = "";
    char *mpirun = NULL;
    const struct argv *words = &job->program.argv;
    const char *program = words->count > 0 ? words->items[0] : "";
    (void)needed_libraries_find(program, launcher_is_mpi_library, library);
    const struct launcher_facts facts = {
        .setting = job->settings.launcher,
        .ranks = cluster_ranks(&job->cluster),
        .lost_ranks = job->settings.lost_ranks,
        .program = program,
        .library = library,
        .over_tcp = job->program.needs_no_mpi,
        .options = has_options(job->request.mpi_options.options),
        .mpirun = user_program_find("mpirun", env_get(environment, "PATH"), &mpirun, NULL) == 0};
    free(mpirun);
    return launcher_choose(&facts, &job->launcher, err);
}

static void end(void *context) {
    struct mpi_setup *e = context;
    e->done(e->context, e->failure.code != 0 ? &e->failure : NULL);
}

static void vacant(void *context, const struct error *failure) {
    struct mpi_setup *e = context;
    bool direct = e->services->job->launcher.kind == LAUNCHER_DIRECT;
    if (failure != NULL)
        e->failure = *failure;
    else if (!direct &&
             environment_daemon(e->services->environment, e->services->local->socket,
                                &e->environment, &e->failure) == 0 &&
             mpi_install_find(e->services->mpi_install, e->services->loop, e->services->reaper,
                              env_get(e->services->environment, "PATH"), &e->environment, e->done,
                              e->context, &e->failure) == 0)
        return;
    loop_at(e->services->loop, &e->soon, clock_now());
}

void mpi_setup_start(struct mpi_setup *e, const struct services *services,
                     void (*done)(void *context, const struct error *failure), void *context) {
    *e = (struct mpi_setup){.services = services,
                            .done = done,
                            .context = context,
                            .soon = {.fire = end, .context = e}};
    if (mpi_setup_choose(services->job, services->environment, &e->failure) != 0 ||
        cluster_ranks(&services->job->cluster) == 1)
        loop_at(services->loop, &e->soon, clock_now());
    else
        port_wait_await(&e->port_wait, e->services, PORT_WAIT_FIRST_SECONDS, vacant, e);
}

void mpi_setup_drop(struct mpi_setup *e) {
    port_wait_cancel(&e->port_wait);
}

void mpi_setup_close(struct mpi_setup *e) {
    mpi_setup_drop(e);
    argv_done(&e->environment);
}

/* --- the agent -------------------------------------------------------------------------------- */

int mpi_setup_link_agent(const struct control_socket *local, struct error *err) {
    char agent[CONTROL_SOCKET_FILE_SIZE];
    char self[CONTROL_SOCKET_FILE_SIZE];
    char there[CONTROL_SOCKET_FILE_SIZE];
    control_socket_file(local, "agent", agent);
    if (file_self(self, sizeof(self), err) != 0)
        return -1;
    ssize_t size = readlink(agent, there, sizeof(there));
    if (size == (ssize_t)strlen(self) && memcmp(there, self, (size_t)size) == 0)
        return 0;
    (void)unlink(agent);
    if (symlink(self, agent) != 0)
        return error_set_errno(err, file_write_code(errno), "%s", agent);
    return 0;
}

int mpi_setup_renew_agent(struct control_socket *local, struct error *err) {
    return control_socket_renew(local, err) == 0 ? mpi_setup_link_agent(local, err) : -1;
}
