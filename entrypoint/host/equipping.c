#include "entrypoint/host/equipping.h"

#include "common/clock.h"
#include "entrypoint/host/ranks/environment.h"

static void end(void *context) {
    struct equipping *e = context;
    e->o.done(e->o.context, e->failure.code != 0 ? &e->failure : NULL);
}

static void vacant(void *context, const struct error *failure) {
    struct equipping *e = context;
    if (failure != NULL)
        e->failure = *failure;
    else if (environment_daemon(e->o.environment, e->o.socket, &e->environment, &e->failure) == 0 &&
             tools_find(e->o.tools, e->o.loop, e->o.reaper, env_get(e->o.environment, "PATH"),
                        &e->environment, e->o.done, e->o.context, &e->failure) == 0)
        return;
    loop_at(e->o.loop, &e->soon, clock_now());
}

void equipping_start(struct equipping *e, const struct equipping_options *options) {
    *e = (struct equipping){.o = *options, .soon = {.fire = end, .context = e}};
    if (cluster_ranks(&e->o.job->cluster) == 1)
        loop_at(e->o.loop, &e->soon, clock_now());
    else
        vacancy_await(&e->vacancy, e->o.loop, e->o.job, VACANCY_FIRST_SECONDS, vacant, e);
}

void equipping_drop(struct equipping *e) {
    vacancy_cancel(&e->vacancy);
}

void equipping_close(struct equipping *e) {
    equipping_drop(e);
    argv_done(&e->environment);
}
