#include "trainer/data/order/lanes.h"

#include "tests/support/unit.h"
#include "trainer/data/order/sampler.h"
#include "trainer/data/order/sampler_epoch.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT = 1003, SHARDS = 13, GLOBAL = 16 };

static uint32_t samples[COUNT];
static size_t first[SHARDS + 1];
static uint32_t shard_of[COUNT];

/* Shards of different sizes, one of them empty, with samples numbered at random. */
static struct sampler make(int ranks, int rank, int accumulate, int lanes, int window) {
    for (size_t i = 0; i < COUNT; i++)
        samples[i] = (uint32_t)sampler_permute(3, 1, COUNT, i);
    for (size_t i = 0; i <= SHARDS; i++)
        first[i] = i < 5 ? i * 31 : i == 5 ? 4 * 31 : COUNT - (SHARDS - i) * 100;
    for (size_t i = 0; i < SHARDS; i++)
        for (size_t at = first[i]; at < first[i + 1]; at++)
            shard_of[samples[at]] = (uint32_t)i;
    return (struct sampler){
        .count = COUNT,
        .ranks = ranks,
        .rank = rank,
        .batch = GLOBAL / ranks / accumulate,
        .accumulate = accumulate,
        .seed = 11,
        .shuffle = true,
        .lanes = {samples, first, SHARDS, lanes, window},
    };
}

/* Sets RET, [steps][GLOBAL], to the samples that all ranks take in EPOCH. */
static int64_t order_of(uint32_t epoch, int ranks, int accumulate, int lanes, int window,
                        uint32_t *ret) {
    int64_t steps = 0;
    for (int rank = 0; rank < ranks; rank++) {
        struct sampler_epoch e = {0};
        const struct sampler s = make(ranks, rank, accumulate, lanes, window);
        CU_ASSERT_EQUAL_FATAL(sampler_check(&s, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(sampler_epoch_init(&e, &s, NULL), 0);
        CU_ASSERT_FALSE(sampler_epoch_has(&e, epoch));
        sampler_epoch_make(&e, epoch);
        CU_ASSERT_TRUE(sampler_epoch_has(&e, epoch));
        steps = sampler_steps(&s);
        for (int64_t step = 0; step < steps; step++)
            for (int micro = 0; micro < accumulate; micro++)
                for (int i = 0; i < s.batch; i++) {
                    const int64_t sample = sampler_epoch_at(&e, epoch, step, micro, i);
                    CU_ASSERT_FATAL(sample >= 0 && sample < COUNT);
                    ret[step * GLOBAL + (rank * accumulate + micro) * s.batch + i] =
                        (uint32_t)sample;
                }
        sampler_epoch_done(&e);
    }
    return steps;
}

static uint32_t one[COUNT], other[COUNT];

static void each_sample_occurs_once_an_epoch(void) {
    static const int lanes[] = {1, 2, 4, 8, 16};
    static const int windows[] = {1, 7, 64, 100000};
    size_t dropped[COUNT] = {0};
    for (size_t l = 0; l < 5; l++)
        for (size_t w = 0; w < 4; w++)
            for (uint32_t epoch = 0; epoch < 5; epoch++) {
                uint8_t seen[COUNT] = {0};
                const int64_t steps = order_of(epoch, 1, 1, lanes[l], windows[w], one);
                const int share = GLOBAL / lanes[l];
                CU_ASSERT_EQUAL(steps, COUNT / lanes[l] / share);
                for (int64_t i = 0; i < steps * GLOBAL; i++)
                    seen[one[i]]++;
                for (int i = 0; i < COUNT; i++) {
                    if (seen[i] > 1)
                        CU_FAIL("a sample twice");
                    dropped[i] += seen[i] == 0;
                }
            }
    for (int i = 0; i < COUNT; i++)
        if (dropped[i] > 20) /* of 100 orders, each of which drops one in 40 to 90 */
            CU_FAIL("always the same are dropped");
}

static void the_order_is_the_same_for_each_number_of_ranks(void) {
    static const int splits[][2] = {{2, 1}, {4, 1}, {8, 1}, {1, 2}, {2, 4}, {4, 2}, {1, 16}};
    for (uint32_t epoch = 0; epoch < 3; epoch++) {
        const int64_t steps = order_of(epoch, 1, 1, 8, 32, one);
        for (size_t k = 0; k < sizeof(splits) / sizeof(splits[0]); k++) {
            memset(other, 0, sizeof(other));
            CU_ASSERT_EQUAL(order_of(epoch, splits[k][0], splits[k][1], 8, 32, other), steps);
            CU_ASSERT_EQUAL(memcmp(one, other, (size_t)steps * GLOBAL * sizeof(one[0])), 0);
        }
    }
}

static void epochs_seeds_lanes_and_windows_give_other_orders(void) {
    int same[3] = {0};
    (void)order_of(0, 1, 1, 8, 32, one);
    for (int k = 0; k < 3; k++) {
        (void)order_of(k == 0, 1, 1, k == 1 ? 4 : 8, k == 2 ? 16 : 32, other);
        for (int i = 0; i < 900; i++)
            same[k] += one[i] == other[i];
        CU_ASSERT(same[k] < 100);
    }
}

/* A rank takes the samples of its lanes alone, in each window those of few shards. */
static void a_rank_reads_its_lanes_alone(void) {
    enum { RANKS = 4, LANES = 8, WINDOW = 16 };
    struct lanes_line line = {0};
    const struct sampler s = make(RANKS, 0, 1, LANES, WINDOW);
    static uint32_t where[COUNT];
    CU_ASSERT_EQUAL_FATAL(lanes_line_init(&line, &s.lanes, NULL), 0);
    lanes_line_make(&line, &s.lanes, s.seed, 2);
    CU_ASSERT_EQUAL(line.first[SHARDS], COUNT);
    for (size_t shard = 0, at = 0; shard < SHARDS; shard++)
        for (size_t i = first[line.shards[shard]]; i < first[line.shards[shard] + 1]; i++)
            where[samples[i]] = (uint32_t)at++;
    const int64_t steps = order_of(2, RANKS, 1, LANES, WINDOW, one);
    for (int64_t step = 0; step < steps; step++)
        for (int i = 0; i < GLOBAL; i++) {
            const int lane = i / (GLOBAL / LANES);
            const int at = (int)step * (GLOBAL / LANES) + i % (GLOBAL / LANES);
            const int begin = lane * COUNT / LANES;
            const int now = (int)where[one[step * GLOBAL + i]] - begin;
            CU_ASSERT(now >= 0 && begin + now < (lane + 1) * COUNT / LANES);
            CU_ASSERT_EQUAL(now / WINDOW, at / WINDOW);
        }
    lanes_line_done(&line);
}

struct reading {
    uint8_t read[COUNT];
    size_t pieces;
};

static void take_piece(void *context, struct lanes_piece piece) {
    struct reading *r = context;
    r->pieces++;
    CU_ASSERT(piece.first < piece.end && piece.end <= first[piece.shard + 1]);
    CU_ASSERT(piece.first >= first[piece.shard]);
    for (size_t at = piece.first; at < piece.end; at++)
        r->read[samples[at]]++;
}

/* From any step on, what a step takes was announced before, and nothing twice. */
static void windows_are_told_ahead_of_their_steps(void) {
    enum { LANES = 4 };
    static const int64_t froms[] = {0, 1, 17, 60};
    static const int windows[] = {1, 10, 64, 5000};
    for (size_t k = 0; k < 16; k++) {
        const int64_t from = froms[k % 4];
        const struct sampler s = make(1, 0, 1, LANES, windows[k / 4]);
        struct reading r = {.pieces = 0};
        struct lanes_line line = {0};
        CU_ASSERT_EQUAL_FATAL(lanes_line_init(&line, &s.lanes, NULL), 0);
        lanes_line_make(&line, &s.lanes, s.seed, 1);
        const int64_t steps = order_of(1, 1, 1, LANES, windows[k / 4], one);
        for (int64_t step = from; step < steps; step++) {
            for (int lane = 0; lane < LANES; lane++)
                lanes_ahead(&s.lanes, &line, GLOBAL, lane, (size_t)step, (size_t)from, take_piece,
                            &r);
            for (int i = 0; i < GLOBAL; i++)
                CU_ASSERT_EQUAL(r.read[one[step * GLOBAL + i]], 1);
        }
        CU_ASSERT(r.pieces > 0);
        for (int i = 0; i < COUNT; i++)
            CU_ASSERT(r.read[i] <= 1);
        lanes_line_done(&line);
    }
}

/* Runs that go on after an update must see the pictures that they would have seen; the numbers are
 * those of tests/golden/order.py. */
static void the_order_is_the_same_in_every_build(void) {
    enum { OTHERS = 6, WHOLE = 188, TAKEN = 12 };
    static const size_t firsts[OTHERS + 1] = {0, 30, 30, 80, 121, 128, WHOLE};
    static const struct {
        uint64_t seed;
        uint32_t epoch;
        size_t step;
        uint32_t taken[TAKEN];
    } orders[] = {
        {0, 0, 0, {82, 81, 80, 140, 137, 141, 183, 186, 121, 37, 34, 33}},
        {9, 2, 5, {83, 93, 95, 139, 148, 149, 184, 32, 34, 77, 2, 3}},
        {9, 2, 14, {113, 117, 118, 173, 167, 170, 62, 56, 58, 27, 25, 28}},
    };
    uint32_t numbers[WHOLE];
    struct lanes_line line = {0};
    const struct lanes lanes = {numbers, firsts, OTHERS, 4, 8};
    for (uint32_t i = 0; i < WHOLE; i++)
        numbers[i] = i;
    CU_ASSERT_EQUAL_FATAL(lanes_line_init(&line, &lanes, NULL), 0);
    for (size_t k = 0; k < sizeof(orders) / sizeof(orders[0]); k++) {
        lanes_line_make(&line, &lanes, orders[k].seed, orders[k].epoch);
        for (size_t place = 0; place < TAKEN; place++)
            CU_ASSERT_EQUAL(lanes_at(&lanes, &line, orders[k].seed, orders[k].epoch, TAKEN,
                                     orders[k].step, place),
                            orders[k].taken[place]);
    }
    lanes_line_done(&line);
}

static void lanes_that_do_not_fit_are_refused(void) {
    static const struct {
        int ranks, lanes;
        const char *words;
    } cases[] = {
        {1, 7, "--lanes 7: 1 rank must divide the lanes"},
        {1, 7, "the nearest that fit: --lanes 4 or 8"},
        {4, 2, "the nearest that fit: --lanes 4"},
        {2, 64, "the 16 images of a step; the nearest that fit: --lanes 16"},
        {2, 9, "--lanes 8 or 16"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct sampler s = make(cases[i].ranks, 0, 1, cases[i].lanes, 8);
        struct error err = {0};
        CU_ASSERT_EQUAL(sampler_check(&s, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
        ASSERT_CONTAINS(err.text, cases[i].words);
    }
}

UNIT_SUITE("data.lanes", UNIT(each_sample_occurs_once_an_epoch),
           UNIT(the_order_is_the_same_for_each_number_of_ranks),
           UNIT(epochs_seeds_lanes_and_windows_give_other_orders),
           UNIT(a_rank_reads_its_lanes_alone), UNIT(windows_are_told_ahead_of_their_steps),
           UNIT(lanes_that_do_not_fit_are_refused), UNIT(the_order_is_the_same_in_every_build))
