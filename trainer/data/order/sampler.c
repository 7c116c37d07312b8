#include "trainer/data/order/sampler.h"

#include "trainer/data/order/permutation.h"

#include <stdio.h>

/* Permutations of one (seed, epoch) are distinguished by number: that of all samples, that of the
 * batches of all groups, and one for each group's samples. lanes.c has others. */
enum { ORDER_OF_SAMPLES, ORDER_OF_BATCHES, ORDER_OF_GROUPS };

static size_t permute(uint64_t seed, uint32_t epoch, uint32_t order, size_t count, size_t place) {
    const struct permutation p = {seed, epoch, order, PERMUTATION_MARK};
    return permutation_at(&p, count, place);
}

size_t sampler_permute(uint64_t seed, uint32_t epoch, size_t count, size_t place) {
    return permute(seed, epoch, ORDER_OF_SAMPLES, count, place);
}

static size_t rank_share(const struct sampler *s) {
    return (size_t)s->accumulate * (size_t)s->batch;
}

static size_t batches_of(const struct sampler *s, size_t count) {
    size_t global = (size_t)s->ranks * rank_share(s);
    return s->shuffle ? count / global : (count + global - 1) / global;
}

int64_t sampler_steps(const struct sampler *s) {
    size_t steps = 0;
    if (s->lanes.lanes > 0)
        return (int64_t)lanes_steps(&s->lanes, (size_t)s->ranks * rank_share(s));
    if (s->groups.count == 0) {
        const int64_t all = (int64_t)batches_of(s, s->count);
        return s->part.steps > 0 && s->part.steps < all ? s->part.steps : all;
    }
    for (int i = 0; i < s->groups.count; i++)
        steps += batches_of(s, s->groups.sizes[i]);
    return (int64_t)steps;
}

static int check_groups(const struct sampler *s, struct error *err) {
    size_t sum = 0;
    if (s->groups.count < 0 || s->groups.count > SAMPLER_GROUPS_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "%d groups of samples; expected 0 to %d",
                         s->groups.count, SAMPLER_GROUPS_MAX);
    for (int i = 0; i < s->groups.count; i++)
        sum += s->groups.sizes[i];
    if (s->groups.count > 0 && sum != s->count)
        return error_set(err, EXIT_CODE_INTERNAL,
                         "groups of %zu samples; expected the %zu of the set", sum, s->count);
    return 0;
}

static int check_lanes(const struct sampler *s, struct error *err) {
    const struct lanes *l = &s->lanes;
    if (l->lanes == 0)
        return 0;
    if (!s->shuffle || s->groups.count > 0 || l->window < 1 || l->first[l->shards] != s->count)
        return error_set(
            err, EXIT_CODE_INTERNAL,
            "lanes of %zu samples; expected the %zu of the set, in a drawn order without groups",
            l->first[l->shards], s->count);
    return lanes_check(l, s->ranks, (size_t)s->ranks * rank_share(s), err);
}

/* No step is possible, because incomplete steps are not taken. */
static int refuse_few(const struct sampler *s, struct error *err) {
    size_t parts = (size_t)s->ranks * (size_t)s->accumulate;
    char way_out[64] = "fewer ranks, or a smaller --accumulate";
    size_t most = s->groups.count > 0 ? 0 : s->count; /* a step is of a single group */
    for (int g = 0; g < s->groups.count; g++)
        most = s->groups.sizes[g] > most ? s->groups.sizes[g] : most;
    if (most >= parts)
        (void)snprintf(way_out, sizeof(way_out), "--batch-size %zu or less", most / parts);
    return error_set(err, EXIT_CODE_DATA,
                     "%zu pictures do not fill one step of %zu (--batch-size %d, %d rank%s, "
                     "--accumulate %d): give %s",
                     s->count, parts * (size_t)s->batch, s->batch, s->ranks,
                     s->ranks == 1 ? "" : "s", s->accumulate, way_out);
}

int sampler_check(const struct sampler *s, struct error *err) {
    if (s->ranks < 1 || s->rank < 0 || s->rank >= s->ranks || s->batch < 1 || s->accumulate < 1)
        return error_set(err, EXIT_CODE_USAGE,
                         "rank %d of %d with batches of %d x %d; expected a rank below their "
                         "number, and batches of 1 or more",
                         s->rank, s->ranks, s->accumulate, s->batch);
    if (s->count == 0)
        return error_set(err, EXIT_CODE_DATA,
                         "the data set is empty; expected one picture or more");
    if (check_groups(s, err) != 0 || check_lanes(s, err) != 0)
        return -1;
    if (s->shuffle && sampler_steps(s) == 0)
        return refuse_few(s, err);
    return 0;
}

/* Location of a step's samples: batch BATCH of a group. */
struct batch_place {
    int group;
    size_t first; /* of the group's samples, in groups.samples */
    size_t size;  /* of the group */
    size_t batch;
};

static struct batch_place find_batch(const struct sampler *s, uint32_t epoch, int64_t step) {
    if (s->groups.count == 0)
        return (struct batch_place){0, 0, s->count, (size_t)step};
    size_t steps = (size_t)sampler_steps(s);
    struct batch_place at = {.batch = (size_t)step, .size = s->groups.sizes[0]};
    if (s->shuffle)
        at.batch = permute(s->seed, epoch, ORDER_OF_BATCHES, steps, (size_t)step);
    while (at.batch >= batches_of(s, at.size)) {
        at.batch -= batches_of(s, at.size);
        at.first += at.size;
        at.size = s->groups.sizes[++at.group];
    }
    return at;
}

int sampler_group(const struct sampler *s, uint32_t epoch, int64_t step) {
    return find_batch(s, epoch, step).group;
}

int64_t sampler_at(const struct sampler *s, uint32_t epoch, int64_t step, int micro, int i) {
    const struct batch_place at = find_batch(s, epoch, step);
    const bool grouped = s->groups.count > 0;
    size_t place = (at.batch * (size_t)s->ranks + (size_t)s->rank) * rank_share(s) +
                   (size_t)micro * (size_t)s->batch + (size_t)i;
    if (place >= at.size)
        return SAMPLER_PADDING;
    uint32_t order = grouped ? ORDER_OF_GROUPS + (uint32_t)at.group : ORDER_OF_SAMPLES;
    if (s->shuffle)
        place = permute(s->seed, epoch, order, at.size, place);
    return grouped ? s->groups.samples[at.first + place] : (int64_t)(s->part.first + place);
}
