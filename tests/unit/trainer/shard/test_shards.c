#include "tests/support/unit.h"
#include "tests/unit/trainer/comm/tcp/rank_threads.h"
#include "trainer/shard/shards.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tensors with zeros between them, in three buckets, the last of which is empty. */
static const struct shard_tensor TENSORS[] = {
    {0, 100, 0}, {112, 16, 1}, {128, 3000, 0}, {3136, 1, 1}, {3152, 777, 0}};
static const size_t BUCKETS[] = {0, 128, 3936, 3936};
static const struct shard_layout LAYOUT = {BUCKETS, 3, TENSORS, 5};
enum { COUNT = 3936, STEPS = 3, ARENAS = 5 };

/* One rank's arenas: weights, gradients, momentum, second, average. */
struct arenas {
    float values[ARENAS][COUNT];
};

static float value_of(int rank, int step, size_t i) {
    const size_t mixed = (i * 2654435761u + (size_t)rank * 40503u + (size_t)step * 97u) % 100003;
    return ((float)mixed * 1e-5f - 0.5f) / (float)(rank + 1);
}

static struct optimizer_arenas take(struct arenas *a, bool second, bool average) {
    return (struct optimizer_arenas){.weights = a->values[0],
                                     .gradients = a->values[1],
                                     .state = {.momentum = a->values[2],
                                               .second = second ? a->values[3] : NULL,
                                               .average = average ? a->values[4] : NULL}};
}

static void fill(float *values, int rank, int step) {
    memset(values, 0, COUNT * sizeof(*values));
    for (size_t t = 0; t < sizeof(TENSORS) / sizeof(TENSORS[0]); t++)
        for (size_t i = 0; i < TENSORS[t].count; i++)
            values[TENSORS[t].first + i] = value_of(rank, step, TENSORS[t].first + i);
}

/* What a test requires of all ranks. */
struct exam {
    struct optimizer_rule rule;
    bool second;
    int workers;  /* 0: all */
    double limit; /* of the difference; 0: every bit is equal */
};

/* One update by a single rank, from the gradients of all workers, summed in their order. */
static void alone(const struct exam *e, struct arenas *a, int workers, int step) {
    static const size_t tensors = sizeof(TENSORS) / sizeof(TENSORS[0]);
    fill(a->values[1], 0, step);
    for (int rank = 1; rank < workers; rank++)
        for (size_t t = 0; t < tensors; t++)
            for (size_t i = TENSORS[t].first; i < TENSORS[t].first + TENSORS[t].count; i++)
                a->values[1][i] += value_of(rank, step, i);
    struct optimizer_arenas arenas = take(a, e->second, e->rule.step.average > 0);
    struct optimizer_step at = optimizer_at(e->rule.step, step + 1);
    if (e->rule.clip_norm > 0)
        at.scale *= optimizer_clip(&e->rule, at.scale, optimizer_square_sum(a->values[1], COUNT));
    for (size_t t = 0; t < tensors; t++)
        optimizer_update_slice(&at, &e->rule.groups[TENSORS[t].group], &arenas, TENSORS[t].first,
                               TENSORS[t].count);
}

static bool step(struct shards *s, const struct exam *e, struct arenas *a, int number) {
    const struct optimizer_arenas arenas = take(a, e->second, e->rule.step.average > 0);
    struct shard_verdict v = {.rate = (double)e->rule.step.rate,
                              .momentum = (double)e->rule.step.momentum,
                              .update = number + 1};
    uint64_t ticket = 0;
    fill(a->values[1], comm_rank(s->comm), number);
    for (int b = 0; b < s->bucket_count; b++)
        if (shards_sum_start(s, b, a->values[1], &ticket, NULL) != 0)
            return false;
    if (comm_wait(s->comm, ticket, NULL) != 0)
        return false;
    shards_look(s, a->values[1], e->rule.clip_norm > 0, &v);
    return shards_judge(s, &v, NULL) == 0 && v.bad == 0 && v.hold == 0 &&
           shards_update(s, &e->rule, &v, &arenas, NULL) == 0 &&
           shards_spread(s, a->values[0], s->workers, NULL) == 0;
}

static bool close_to(const float *a, const float *b, double limit) {
    for (size_t i = 0; i < COUNT; i++)
        if (limit == 0 ? memcmp(&a[i], &b[i], sizeof(*a)) != 0
                       : !(fabs((double)a[i] - (double)b[i]) <= limit))
            return false;
    return true;
}

/* Takes steps on all ranks, and compares weights and state with those of a single rank. */
static bool sit(struct comm *c, void *context) {
    const struct exam *e = context;
    const int workers = e->workers > 0 ? e->workers : comm_size(c);
    struct arenas *own = calloc(2, sizeof(*own)), *expected = own + 1;
    struct shards s;
    bool ok = shards_open(&s, c, workers, &LAYOUT, NULL) == 0;
    fill(expected->values[0], 9, 9);
    memcpy(expected->values[4], expected->values[0], sizeof(expected->values[0]));
    if (comm_rank(c) == 0)
        memcpy(own, expected, sizeof(*own));
    ok = ok && shards_deal(&s, own->values[0], NULL) == 0 &&
         shards_deal(&s, own->values[4], NULL) == 0 &&
         shards_spread(&s, own->values[0], workers, NULL) == 0;
    for (int i = 0; ok && i < STEPS; i++) {
        alone(e, expected, workers, i);
        ok = step(&s, e, own, i);
    }
    for (int i = 2; ok && i < ARENAS; i++)
        ok = shards_spread(&s, own->values[i], 1, NULL) == 0;
    ok = ok && (comm_rank(c) >= workers || close_to(own->values[0], expected->values[0], e->limit));
    for (int i = 2; ok && comm_rank(c) == 0 && i < ARENAS; i++)
        ok = close_to(own->values[i], expected->values[i], e->limit);
    shards_done(&s);
    free(own);
    return ok;
}

static struct exam exam_of(int kind, int workers) {
    return (struct exam){.rule = {.step = {.kind = kind,
                                           .rate = 0.1F,
                                           .momentum = 0.9F,
                                           .scale = 0.25F,
                                           .nesterov = 1,
                                           .trust = 0.02F,
                                           .second = 0.99F,
                                           .epsilon = 1e-8F,
                                           .average = 0.9F},
                                  .groups = {{1, 1e-3F, optimizer_adapts(kind)}, {2, 0, 0}}},
                         .second = optimizer_row((enum optimizer_kind)kind)->keeps_second,
                         .workers = workers};
}

static void all_ranks_learn_what_one_alone_does(void) {
    static const int kinds[] = {OPTIMIZER_SGD, OPTIMIZER_ADAMW};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct exam e = exam_of(kinds[i], 0);
        for (int ranks = 2; ranks <= 4; ranks++)
            CU_ASSERT_EQUAL(rank_threads_all(ranks, sit, &e), ranks);
    }
}

static void so_do_workers_with_servers(void) {
    struct exam one = exam_of(OPTIMIZER_SGD, 2), two = exam_of(OPTIMIZER_ADAMW, 3);
    CU_ASSERT_EQUAL(rank_threads_all(3, sit, &one), 3);
    CU_ASSERT_EQUAL(rank_threads_all(5, sit, &two), 5);
}

static void norms_are_of_whole_tensors_and_of_all(void) {
    struct exam adapts = exam_of(OPTIMIZER_LARS, 0), clips = exam_of(OPTIMIZER_SGD, 2);
    adapts.limit = clips.limit = 1e-6;
    clips.rule.clip_norm = 0.5F;
    CU_ASSERT_EQUAL(rank_threads_all(3, sit, &adapts), 3);
    CU_ASSERT_EQUAL(rank_threads_all(4, sit, &clips), 4);
}

/* One element on one rank is not finite: all ranks learn of it, and of rank 0's own decisions. */
static bool find_bad(struct comm *c, void *context) {
    struct shards s;
    const size_t *where = context;
    const bool first = comm_rank(c) == 0;
    struct shard_verdict v = {.hold = first ? 0 : 5, .rate = first ? 0.25 : 9, .update = 7};
    float *gradients = calloc(COUNT, sizeof(*gradients));
    if (comm_rank(c) == 1)
        gradients[*where] = INFINITY;
    uint64_t ticket = 0;
    bool ok = shards_open(&s, c, comm_size(c), &LAYOUT, NULL) == 0;
    for (int b = 0; ok && b < s.bucket_count; b++)
        ok = shards_sum_start(&s, b, gradients, &ticket, NULL) == 0;
    ok = ok && comm_wait(c, ticket, NULL) == 0;
    shards_look(&s, gradients, false, &v);
    ok = ok && shards_judge(&s, &v, NULL) == 0 && v.bad == 1 && v.hold == 0 && v.rate == 0.25 &&
         v.update == 7;
    shards_done(&s);
    free(gradients);
    return ok;
}

static void a_gradient_that_is_not_finite_is_known_to_all(void) {
    static size_t places[] = {0, 120, 3000, COUNT - 1};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        CU_ASSERT_EQUAL(rank_threads_all(3, find_bad, &places[i]), 3);
}

/* Of 1 MiB of values, those of other ranks are discarded, except on pages with own values. */
static bool forget(struct comm *c, void *context) {
    enum { MANY = 1 << 18, PAGE = 1 << 16 };
    static const size_t ends[] = {0, MANY};
    const struct shard_layout layout = {ends, 1, TENSORS, 5};
    struct shards s;
    float *values = aligned_alloc(PAGE, MANY * sizeof(*values));
    (void)context;
    bool ok = shards_open(&s, c, comm_size(c), &layout, NULL) == 0 && values != NULL;
    for (size_t i = 0; ok && i < MANY; i++)
        values[i] = 1;
    shards_forget(&s, values);
    const size_t half = MANY / 2, own = comm_rank(c) == 0 ? 0 : half;
    for (size_t i = 0; ok && i < half; i++)
        ok = values[own + i] == 1 && values[half - own + i] == 0;
    shards_done(&s);
    free(values);
    return ok;
}

static void what_others_own_takes_no_memory(void) {
    CU_ASSERT_EQUAL(rank_threads_all(2, forget, NULL), 2);
}

UNIT_SUITE("shard.shards", UNIT(all_ranks_learn_what_one_alone_does),
           UNIT(so_do_workers_with_servers), UNIT(norms_are_of_whole_tensors_and_of_all),
           UNIT(a_gradient_that_is_not_finite_is_known_to_all),
           UNIT(what_others_own_takes_no_memory))
