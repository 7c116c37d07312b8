#include "entrypoint/host/port_wait.h"

#include "common/clock.h"

static const int64_t retry = 250 * CLOCK_MILLISECOND;

static void look(void *context) {
    struct port_wait *v = context;
    struct error err = {0};
    const struct job *job = v->services->job;
    bool mpi = job->launcher.kind == LAUNCHER_MPIRUN;
    if (cluster_ranks(&job->cluster) <= 1 || ports_check_free(&job->ports, mpi, &err) == 0)
        v->done(v->context, NULL);
    else if (clock_now() >= v->deadline)
        v->done(v->context, &err);
    else if (clock_now() + retry < v->deadline)
        loop_after(v->services->loop, &v->again, retry);
    else
        loop_at(v->services->loop, &v->again, v->deadline);
}

void port_wait_await(struct port_wait *v, const struct services *services, int64_t seconds,
                     void (*done)(void *context, const struct error *failure), void *context) {
    port_wait_cancel(v);
    *v = (struct port_wait){.services = services,
                            .again = {.fire = look, .context = v},
                            .deadline = clock_now() + seconds * CLOCK_SECOND,
                            .done = done,
                            .context = context};
    look(v);
}

void port_wait_cancel(struct port_wait *v) {
    if (v->services != NULL)
        loop_cancel(v->services->loop, &v->again);
}
