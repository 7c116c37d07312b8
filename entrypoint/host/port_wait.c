#include "entrypoint/host/port_wait.h"

#include "common/clock.h"

static const int64_t retry = 250 * CLOCK_MILLISECOND;

static void look(void *context) {
    struct port_wait *v = context;
    struct error err = {0};
    bool mpi = v->job->launcher.kind == LAUNCHER_MPIRUN;
    if (cluster_ranks(&v->job->cluster) <= 1 || ports_check_free(&v->job->ports, mpi, &err) == 0)
        v->done(v->context, NULL);
    else if (clock_now() >= v->deadline)
        v->done(v->context, &err);
    else if (clock_now() + retry < v->deadline)
        loop_after(v->loop, &v->again, retry);
    else
        loop_at(v->loop, &v->again, v->deadline);
}

void port_wait_await(struct port_wait *v, struct loop *loop, const struct job *job, int64_t seconds,
                     void (*done)(void *context, const struct error *failure), void *context) {
    port_wait_cancel(v);
    *v = (struct port_wait){.loop = loop,
                            .job = job,
                            .again = {.fire = look, .context = v},
                            .deadline = clock_now() + seconds * CLOCK_SECOND,
                            .done = done,
                            .context = context};
    look(v);
}

void port_wait_cancel(struct port_wait *v) {
    if (v->loop != NULL)
        loop_cancel(v->loop, &v->again);
}
