#include "trainer/data/order/sampler_epoch.h"

#include <stdlib.h>

static size_t global_batch(const struct sampler *s) {
    return (size_t)s->ranks * (size_t)s->accumulate * (size_t)s->batch;
}

/* The same steps for a single rank: places of a step are those of all ranks in turn. */
static struct sampler whole_of(const struct sampler *s) {
    struct sampler whole = *s;
    whole.rank = 0;
    whole.ranks = 1;
    whole.accumulate = 1;
    whole.batch = (int)global_batch(s);
    return whole;
}

int sampler_epoch_init(struct sampler_epoch *ret, const struct sampler *sampler,
                       struct error *err) {
    const size_t global = global_batch(sampler);
    *ret = (struct sampler_epoch){.sampler = *sampler, .steps = sampler_steps(sampler)};
    if (sampler->lanes.lanes > 0)
        return lanes_line_init(&ret->line, &sampler->lanes, err);
    if (sampler->groups.choose == NULL)
        return 0;
    if (!sampler->shuffle)
        return error_set(err, EXIT_CODE_INTERNAL, "the choice of groups is only for training");
    const size_t steps = (size_t)ret->steps, groups = (size_t)sampler->groups.count;
    ret->samples = calloc(steps * global + 1, sizeof(*ret->samples));
    ret->groups = calloc(steps + 1, sizeof(*ret->groups));
    ret->own = calloc(steps + 1, sizeof(*ret->own));
    ret->bins = calloc(groups * global + 1, sizeof(*ret->bins));
    if (ret->samples != NULL && ret->groups != NULL && ret->own != NULL && ret->bins != NULL)
        return 0;
    sampler_epoch_done(ret);
    return error_no_memory(err, "the order of an epoch");
}

void sampler_epoch_done(struct sampler_epoch *e) {
    free(e->samples);
    free(e->groups);
    free(e->own);
    free(e->bins);
    lanes_line_done(&e->line);
    *e = (struct sampler_epoch){0};
}

/* State for one group's steps: the samples gathered so far, and the step that the next batch
 * takes. */
struct gathering {
    struct sampler_epoch *e;
    int own;
    size_t global;
    size_t sizes[SAMPLER_GROUPS_MAX]; /* sizes of the bins */
    size_t next;
};

static void take_step(struct gathering *g, int group) {
    struct sampler_epoch *e = g->e;
    while (e->own[g->next] != g->own)
        g->next++;
    const uint32_t *bin = &e->bins[(size_t)group * g->global];
    for (size_t i = 0; i < g->global; i++)
        e->samples[g->next * g->global + i] = bin[i];
    e->groups[g->next++] = (uint8_t)group;
    g->sizes[group] = 0;
}

static void gather(struct gathering *g, int group, uint32_t sample) {
    g->e->bins[(size_t)group * g->global + g->sizes[group]++] = sample;
    if (g->sizes[group] == g->global)
        take_step(g, group);
}

/* Returns the chosen group for SAMPLE, or its own group if none is chosen. */
static int choose(const struct gathering *g, uint32_t epoch, uint32_t sample) {
    const struct sampler_groups *groups = &g->e->sampler.groups;
    int group = groups->choose(groups->user, epoch, sample);
    return group >= 0 && group < groups->count ? group : g->own;
}

static void regroup(struct sampler_epoch *e, const struct sampler *whole, uint32_t epoch, int own) {
    struct gathering g = {.e = e, .own = own, .global = (size_t)whole->batch};
    for (int64_t step = 0; step < e->steps; step++)
        for (int i = 0; e->own[step] == own && i < whole->batch; i++) {
            uint32_t sample = (uint32_t)sampler_at(whole, epoch, step, 0, i);
            gather(&g, choose(&g, epoch, sample), sample);
        }
    for (int group = 0; group < whole->groups.count; group++) {
        const uint32_t *bin = &e->bins[(size_t)group * g.global];
        for (size_t i = 0; group != own && i < g.sizes[group]; i++)
            gather(&g, own, bin[i]);
    }
}

bool sampler_epoch_has(const struct sampler_epoch *e, uint32_t epoch) {
    return (e->samples == NULL && e->line.shards == NULL) || (e->is_made && e->epoch == epoch);
}

static void make_groups(struct sampler_epoch *e, uint32_t epoch) {
    const struct sampler whole = whole_of(&e->sampler);
    for (int64_t step = 0; step < e->steps; step++)
        e->own[step] = (uint8_t)sampler_group(&whole, epoch, step);
    for (int own = 0; own < whole.groups.count; own++)
        regroup(e, &whole, epoch, own);
}

void sampler_epoch_make(struct sampler_epoch *e, uint32_t epoch) {
    if (sampler_epoch_has(e, epoch))
        return;
    if (e->line.shards != NULL)
        lanes_line_make(&e->line, &e->sampler.lanes, e->sampler.seed, epoch);
    else
        make_groups(e, epoch);
    e->epoch = epoch;
    e->is_made = true;
}

int sampler_epoch_group(const struct sampler_epoch *e, uint32_t epoch, int64_t step) {
    if (e->line.shards != NULL)
        return 0;
    return e->samples == NULL ? sampler_group(&e->sampler, epoch, step) : e->groups[step];
}

int64_t sampler_epoch_at(const struct sampler_epoch *e, uint32_t epoch, int64_t step, int micro,
                         int i) {
    const struct sampler *s = &e->sampler;
    const size_t share = (size_t)s->accumulate * (size_t)s->batch;
    const size_t place = (size_t)s->rank * share + (size_t)micro * (size_t)s->batch + (size_t)i;
    if (e->line.shards != NULL)
        return lanes_at(&s->lanes, &e->line, s->seed, epoch, global_batch(s), (size_t)step, place);
    return e->samples == NULL ? sampler_at(s, epoch, step, micro, i)
                              : e->samples[(size_t)step * global_batch(s) + place];
}

void sampler_epoch_ahead(const struct sampler_epoch *e, int64_t step, int64_t from,
                         void (*piece)(void *context, struct lanes_piece piece), void *context) {
    const struct sampler *s = &e->sampler;
    const int own = s->lanes.lanes / s->ranks;
    for (int lane = s->rank * own; lane < (s->rank + 1) * own; lane++)
        lanes_ahead(&s->lanes, &e->line, global_batch(s), lane, (size_t)step, (size_t)from, piece,
                    context);
}
