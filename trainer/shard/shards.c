#include "trainer/shard/shards.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Each bucket of gradients is divided among the owners by itself, so that its sum can start as soon
 * as the backward pass has filled it. A rank therefore owns one piece of every bucket, and
 * own_share finds it. Tensors do not end where pieces do: each_part gives the parts of tensors that
 * are this rank's own.
 *
 * A step is a sequence of calls, the same on all ranks: shards_sum_start for each bucket, a wait,
 * shards_look and shards_judge. If the verdict allows it, shards_update and shards_spread follow.
 * Workers make it in app/step/strategy_sharded.c, servers in shard_server.c.
 *
 * Values of other ranks lie in the same arenas, at the same offsets. They are read by no rank
 * before a spread has replaced them. */

/* Returns where the share of owner OWNER of OWNERS begins in COUNT elements. Shares are whole
 * units, and the last owner also gets what is left of a bucket beyond them. */
static size_t share_at(size_t count, int owner, int owners) {
    if (owner == owners)
        return count;
    const size_t units = count / SHARDS_UNIT;
    const size_t each = units / (size_t)owners, rest = units % (size_t)owners;
    return (each * (size_t)owner + ((size_t)owner < rest ? (size_t)owner : rest)) * SHARDS_UNIT;
}

/* Computes all bounds. Ranks that own nothing have an empty share at the bucket's beginning. */
static void divide(struct shards *s, const size_t *begins) {
    const int ranks = comm_size(s->comm);
    const int first = s->serves ? s->workers : 0;
    for (int32_t b = 0; b < s->bucket_count; b++) {
        size_t *bounds = s->bounds + (size_t)b * ((size_t)ranks + 1);
        for (int rank = 0; rank <= ranks; rank++)
            bounds[rank] = begins[b] + (rank < first ? 0
                                                     : share_at(begins[b + 1] - begins[b],
                                                                rank - first, ranks - first));
        s->buckets[b] = (struct comm_shares){.bounds = bounds, .workers = s->workers};
    }
}

/* LAYOUT is copied. One more of everything is allocated, as calloc() of nothing may give NULL. */
int shards_open(struct shards *s, struct comm *comm, int workers, const struct shard_layout *layout,
                struct error *err) {
    const size_t buckets = (size_t)layout->bucket_count, tensors = (size_t)layout->tensor_count;
    *s = (struct shards){.comm = comm,
                         .workers = workers,
                         .serves = workers < comm_size(comm),
                         .bucket_count = layout->bucket_count,
                         .tensor_count = layout->tensor_count};
    s->bounds = calloc(buckets + 1, ((size_t)comm_size(comm) + 1) * sizeof(*s->bounds));
    s->buckets = calloc(buckets + 1, sizeof(*s->buckets));
    s->tensors = calloc(tensors + 1, sizeof(*s->tensors));
    s->norms = calloc(tensors + 1, 2 * sizeof(*s->norms));
    if (s->bounds == NULL || s->buckets == NULL || s->tensors == NULL || s->norms == NULL) {
        shards_done(s);
        return error_no_memory(err, "shares of the optimizer");
    }
    memcpy(s->tensors, layout->tensors, tensors * sizeof(*s->tensors));
    divide(s, layout->buckets);
    return 0;
}

void shards_done(struct shards *s) {
    free(s->bounds);
    free(s->buckets);
    free(s->tensors);
    free(s->norms);
    *s = (struct shards){0};
}

/* Nothing is written to the shares of others, in GRADIENTS of this rank. */
int shards_sum_start(struct shards *s, int bucket, float *gradients, uint64_t *ret_ticket,
                     struct error *err) {
    return comm_share_sum_start(s->comm, gradients, &s->buckets[bucket], ret_ticket, err);
}

/* Returns the first element of this rank's share of BUCKET; *RET_COUNT: its elements. */
static size_t own_share(const struct shards *s, int32_t bucket, size_t *ret_count) {
    const size_t *bounds = s->buckets[bucket].bounds + comm_rank(s->comm);
    *ret_count = bounds[1] - bounds[0];
    return bounds[0];
}

/* Without SQUARES their sum is left out, which saves a pass over the gradients. */
void shards_look(const struct shards *s, const float *gradients, bool squares,
                 struct shard_verdict *v) {
    v->bad = v->squares = 0;
    for (int32_t b = 0; b < s->bucket_count; b++) {
        size_t own = 0;
        const size_t first = own_share(s, b, &own);
        if (!optimizer_finite(gradients + first, own))
            v->bad = 1;
        if (squares)
            v->squares += optimizer_square_sum(gradients + first, own);
    }
}

/* One sum carries the findings of all owners and rank 0's settings: other ranks add zero to those.
 * All ranks get the same bits and so decide alike. */
int shards_judge(struct shards *s, struct shard_verdict *v, struct error *err) {
    const bool first = comm_rank(s->comm) == 0;
    /* In the order of the members of struct shard_verdict. */
    double sums[] = {v->bad,
                     v->squares,
                     first ? v->hold : 0,
                     first ? v->rate : 0,
                     first ? v->momentum : 0,
                     first ? v->update : 0};
    if (comm_sum(s->comm, sums, sizeof(sums) / sizeof(sums[0]), COMM_F64, err) != 0)
        return error_wrap(err, "agreeing on the outcome of a step");
    *v = (struct shard_verdict){sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]};
    return 0;
}

/* A tensor's part in this rank's share of a bucket. */
struct own_part {
    const struct shard_tensor *tensor;
    size_t first, count;
};

typedef void part_taker(void *user, const struct own_part *part);

/* Hands all parts that are this rank's own to TAKE, in order. T only moves forward: buckets and
 * tensors are both ascending. A tensor may have parts in several buckets, so the inner loop does
 * not move it. */
static void each_part(const struct shards *s, part_taker *take, void *user) {
    int32_t t = 0;
    for (int32_t b = 0; b < s->bucket_count; b++) {
        size_t count = 0;
        const size_t begin = own_share(s, b, &count), end = begin + count;
        while (t < s->tensor_count && s->tensors[t].first + s->tensors[t].count <= begin)
            t++;
        for (int32_t i = t; count > 0 && i < s->tensor_count && s->tensors[i].first < end; i++) {
            const struct shard_tensor *tensor = &s->tensors[i];
            const size_t last = tensor->first + tensor->count;
            const size_t first = tensor->first > begin ? tensor->first : begin;
            const struct own_part part = {tensor, first, (last < end ? last : end) - first};
            take(user, &part);
        }
    }
}

/* One update of all parts. */
struct updating {
    const struct shards *s;
    const struct optimizer_rule *rule;
    const struct optimizer_arenas *arenas;
};

/* The step with the changes of the tensor's group. */
static struct optimizer_step step_of(const struct updating *u, const struct shard_tensor *tensor) {
    return optimizer_of_group(u->rule->step, u->rule->groups[tensor->group]);
}

/* Two sums for each tensor, in the order of the list. */
static double *norms_of(const struct updating *u, const struct shard_tensor *tensor) {
    return u->s->norms + 2 * (tensor - u->s->tensors);
}

/* Adds the squares of own parts; the sum over ranks completes them to those of whole tensors. */
static void measure(void *user, const struct own_part *part) {
    const struct updating *u = user;
    const struct optimizer_step step = step_of(u, part->tensor);
    double *norms = norms_of(u, part->tensor);
    norms[0] += optimizer_square_sum(u->arenas->weights + part->first, part->count);
    norms[1] += optimizer_measured_sum(&step, u->arenas->weights + part->first,
                                       u->arenas->gradients + part->first, part->count);
}

/* Updates an own part, with the factor of its whole tensor where the optimizer has one. */
static void update(void *user, const struct own_part *part) {
    const struct updating *u = user;
    const double *norms = norms_of(u, part->tensor);
    struct optimizer_step step = step_of(u, part->tensor);
    if (u->rule->groups[part->tensor->group].adapts)
        step.factor = optimizer_factor(&step, norms[0], norms[1]);
    optimizer_apply(&step, u->arenas->weights + part->first,
                    optimizer_state_at(u->arenas->state, part->first),
                    u->arenas->gradients + part->first, part->count);
}

/* RULE as it is at the update that V is about. */
static struct optimizer_rule rule_at(const struct optimizer_rule *rule,
                                     const struct shard_verdict *v) {
    struct optimizer_rule at = *rule;
    at.step.rate = (float)v->rate;
    at.step.momentum = (float)v->momentum;
    at.step = optimizer_at(at.step, (int64_t)v->update);
    if (rule->clip_norm > 0)
        at.step.scale *= optimizer_clip(rule, rule->step.scale, v->squares);
    return at;
}

/* All ranks sum the norms, even those that own nothing of a tensor: the sum is collective. */
int shards_update(struct shards *s, const struct optimizer_rule *rule,
                  const struct shard_verdict *v, const struct optimizer_arenas *arenas,
                  struct error *err) {
    const size_t norms = 2 * (size_t)s->tensor_count;
    const struct optimizer_rule at = rule_at(rule, v);
    struct updating u = {s, &at, arenas};
    if (optimizer_adapts(at.step.kind)) {
        /* Parts are added up, here and then over ranks. */
        memset(s->norms, 0, norms * sizeof(*s->norms));
        each_part(s, measure, &u);
        if (comm_sum(s->comm, s->norms, norms, COMM_F64, err) != 0)
            return error_wrap(err, "summing norms of tensors");
    }
    each_part(s, update, &u);
    return 0;
}

/* The buckets' number of workers is READERS for the time of the call, as that is what a spread
 * sends to. An error leaves it so; the job ends then. */
int shards_spread(struct shards *s, float *values, int readers, struct error *err) {
    uint64_t ticket = 0;
    for (int32_t b = 0; b < s->bucket_count; b++)
        s->buckets[b].workers = readers;
    for (int32_t b = 0; b < s->bucket_count; b++)
        if (comm_share_spread_start(s->comm, values, &s->buckets[b], &ticket, err) != 0)
            return -1;
    if (comm_wait(s->comm, ticket, err) != 0)
        return error_wrap(err, "sending each owner's values to all ranks");
    for (int32_t b = 0; b < s->bucket_count; b++)
        s->buckets[b].workers = s->workers;
    return 0;
}

/* A sum of rank 0's values alone. With one worker that adds, the "sum" of a share is rank 0's
 * values as they are. */
int shards_deal(struct shards *s, float *values, struct error *err) {
    uint64_t ticket = 0;
    for (int32_t b = 0; b < s->bucket_count; b++)
        s->buckets[b].workers = 1;
    for (int32_t b = 0; b < s->bucket_count; b++)
        if (comm_share_sum_start(s->comm, values, &s->buckets[b], &ticket, err) != 0)
            return -1;
    if (comm_wait(s->comm, ticket, err) != 0)
        return error_wrap(err, "dealing values to their owners");
    for (int32_t b = 0; b < s->bucket_count; b++)
        s->buckets[b].workers = s->workers;
    return 0;
}

/* Whole pages of VALUES from element BEGIN up to END. For private anonymous memory, the kernel
 * gives zeros when such a page is touched again. */
static void forget(float *values, size_t begin, size_t end) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *from = (char *)(values + begin);
    const size_t before = -(uintptr_t)from % page, bytes = (end - begin) * sizeof(*values);
    if (bytes > before && bytes - before >= page)
        (void)madvise(from + before, (bytes - before) / page * page, MADV_DONTNEED);
}

/* Own pages stay, and so do pages that an own share begins or ends in. VALUES may be NULL: an arena
 * that the optimizer does not have. */
void shards_forget(const struct shards *s, float *values) {
    for (int32_t b = 0; values != NULL && b < s->bucket_count; b++) {
        const size_t *bounds = s->buckets[b].bounds;
        size_t count = 0;
        const size_t own = own_share(s, b, &count);
        forget(values, bounds[0], own);
        forget(values, own + count, bounds[comm_size(s->comm)]);
    }
}
