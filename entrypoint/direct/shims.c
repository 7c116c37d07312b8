#include "entrypoint/direct/shims.h"

#include "entrypoint/mpi/rank_environment.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static void ended(void *context, int code) {
    struct shim_process *p = context;
    const struct shims_options *o = &p->shims->o;
    o->ended(o->context, p->rank, code, p->task.signal, p->task.tail.text);
}

static void line(void *context, const char *text, size_t size) {
    const struct shim_process *p = context;
    const struct shims_options *o = &p->shims->o;
    o->line(o->context, text, size);
}

static int start_one(struct shim_process *p, const char *const *words, struct error *err) {
    const struct shims_options *o = &p->shims->o;
    cleanup_argv struct argv argv = {0};
    cleanup_argv struct argv environment = {0};
    char prefix[LINE_SPLITTER_PREFIX_SIZE];
    const struct rank_place place = {.rank = p->rank,
                                     .size = o->size,
                                     .local_rank = p->rank - o->first,
                                     .local_size = o->count,
                                     .attempt = o->attempt};
    if (argv_add_all(&argv, words, err) != 0 ||
        argv_add_all(&environment, (const char *const *)o->environment->items, err) != 0 ||
        rank_environment_set(&place, &environment, err) != 0)
        return -1;
    (void)snprintf(prefix, sizeof(prefix), "[%s rank %u] ", o->host, p->rank);
    const struct subprocess_options options = {
        .prefix = prefix, .line = line, .ended = ended, .context = p, .as_user = true};
    return subprocess_start(&p->task, o->loop, o->reaper, &argv, &environment, &options, err);
}

int shims_start(struct shims *s, const struct shims_options *options, struct error *err) {
    const char *const words[] = {options->ringmaster, "rank", NULL};
    shims_done(s);
    *s = (struct shims){.o = *options};
    s->items = calloc(options->count, sizeof(s->items[0]));
    if (s->items == NULL)
        return error_no_memory(err, "the shims");
    for (; s->count < options->count; s->count++) {
        struct shim_process *p = &s->items[s->count];
        *p = (struct shim_process){.shims = s, .rank = options->first + (unsigned)s->count};
        if (start_one(p, words, err) == 0)
            continue;
        for (size_t i = 0; i < s->count; i++)
            subprocess_signal(&s->items[i].task, SIGKILL);
        shims_done(s);
        return -1;
    }
    s->o.environment = NULL;
    return 0;
}

void shims_done(struct shims *s) {
    for (size_t i = 0; i < s->count; i++)
        subprocess_done(&s->items[i].task);
    free(s->items);
    *s = (struct shims){0};
}
