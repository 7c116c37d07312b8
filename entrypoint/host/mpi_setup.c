#include "entrypoint/host/mpi_setup.h"

#include "common/clock.h"
#include "entrypoint/host/ranks/environment.h"

static void end(void *context) {
    struct mpi_setup *e = context;
    e->o.done(e->o.context, e->failure.code != 0 ? &e->failure : NULL);
}

static void vacant(void *context, const struct error *failure) {
    struct mpi_setup *e = context;
    if (failure != NULL)
        e->failure = *failure;
    else if (environment_daemon(e->o.environment, e->o.socket, &e->environment, &e->failure) == 0 &&
             mpi_install_find(e->o.tools, e->o.loop, e->o.reaper, env_get(e->o.environment, "PATH"),
                              &e->environment, e->o.done, e->o.context, &e->failure) == 0)
        return;
    loop_at(e->o.loop, &e->soon, clock_now());
}

void mpi_setup_start(struct mpi_setup *e, const struct mpi_setup_options *options) {
    *e = (struct mpi_setup){.o = *options, .soon = {.fire = end, .context = e}};
    if (cluster_ranks(&e->o.job->cluster) == 1)
        loop_at(e->o.loop, &e->soon, clock_now());
    else
        port_wait_await(&e->port_wait, e->o.loop, e->o.job, PORT_WAIT_FIRST_SECONDS, vacant, e);
}

void mpi_setup_drop(struct mpi_setup *e) {
    port_wait_cancel(&e->port_wait);
}

void mpi_setup_close(struct mpi_setup *e) {
    mpi_setup_drop(e);
    argv_done(&e->environment);
}
