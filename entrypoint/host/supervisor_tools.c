/* What Open MPI needs on this host: free ports, and its programs. */
#include "common/clock.h"
#include "host/supervisor.h"
#include "ranks/environment.h"

static void found(void *context, const struct error *failure) {
    struct supervisor *s = context;
    if (failure != NULL)
        s->fault = *failure;
    s->role->start(s->state);
}

static void vacant(void *context, const struct error *failure) {
    struct supervisor *s = context;
    if (s->judged)
        return;
    if (failure != NULL)
        s->fault = *failure;
    else if (environment_daemon(s->environment, s->local.socket, &s->tools_environment,
                                &s->fault) == 0 &&
             tools_find(&s->tools, &s->loop, &s->reaper, env_get(s->environment, "PATH"),
                        &s->tools_environment, found, s, &s->fault) == 0)
        return;
    loop_at(&s->loop, &s->begin, clock_now());
}

/* One rank needs no mpirun. */
void supervisor_find_tools(struct supervisor *s) {
    if (cluster_ranks(&s->job->cluster) == 1)
        loop_at(&s->loop, &s->begin, clock_now());
    else
        vacancy_await(&s->vacancy, &s->loop, s->job, VACANCY_FIRST_SECONDS, vacant, s);
}
