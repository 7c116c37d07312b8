#include "tests/support/unit.h"
#include "trainer/data/order/sampler.h"

#include <stdlib.h>
#include <string.h>

static void an_epoch_is_a_permutation(void) {
    for (size_t count = 1; count <= 300; count++) {
        uint8_t seen[300] = {0};
        for (size_t place = 0; place < count; place++) {
            size_t at = sampler_permute(7, 3, count, place);
            CU_ASSERT_FATAL(at < count);
            seen[at]++;
        }
        for (size_t i = 0; i < count; i++)
            CU_ASSERT_EQUAL(seen[i], 1);
    }
}

static void seeds_and_epochs_give_other_orders(void) {
    int by_epoch = 0;
    int by_seed = 0;
    int by_high_half = 0;
    for (size_t place = 0; place < 1000; place++) {
        size_t at = sampler_permute(7, 3, 1000, place);
        by_epoch += at == sampler_permute(7, 4, 1000, place);
        by_seed += at == sampler_permute(8, 3, 1000, place);
        by_high_half += at == sampler_permute(7 | UINT64_C(1) << 32, 3, 1000, place);
    }
    CU_ASSERT(by_high_half < 10);
    CU_ASSERT(by_epoch < 10);
    CU_ASSERT(by_seed < 10);
}

/* Runs that go on after an update must see the pictures that they would have seen; the numbers are
 * those of tests/golden/order.py. */
static void the_order_is_the_same_in_every_build(void) {
    static const struct {
        uint64_t seed;
        uint32_t epoch;
        size_t count;
        size_t first[8];
    } orders[] = {
        {UINT64_C(0), 0u, 10, {1, 6, 4, 7, 2, 3, 9, 0}},
        {UINT64_C(7), 3u, 1000, {854, 633, 718, 512, 814, 811, 938, 272}},
        {UINT64_C(21474836487), 3u, 1000, {796, 16, 299, 320, 956, 940, 175, 890}},
        {UINT64_C(1),
         89u,
         1281167,
         {1032881, 426926, 761103, 583003, 881500, 590158, 947962, 461598}},
        {UINT64_C(9223372036854775817), 4294967295u, 103, {59, 4, 11, 35, 62, 50, 21, 84}},
    };
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
        for (size_t place = 0; place < 8; place++)
            CU_ASSERT_EQUAL(
                sampler_permute(orders[i].seed, orders[i].epoch, orders[i].count, place),
                orders[i].first[place]);
}

/* Over many epochs sample 0 of ten comes to each place about equally often (chi square with 9
 * degrees of freedom; 33.7 is passed once in 10,000). */
static void all_places_are_equally_likely(void) {
    enum { EPOCHS = 10000, COUNT = 10 };
    double hits[COUNT] = {0};
    for (uint32_t epoch = 0; epoch < EPOCHS; epoch++)
        hits[sampler_permute(1, epoch, COUNT, 0)]++;
    double chi = 0;
    for (int i = 0; i < COUNT; i++)
        chi += (hits[i] - EPOCHS / COUNT) * (hits[i] - EPOCHS / COUNT) / (EPOCHS / COUNT);
    CU_ASSERT(chi < 33.7);
}

static void neighbours_do_not_stay_neighbours(void) {
    int near = 0;
    for (size_t place = 0; place + 1 < 10000; place++) {
        long a = (long)sampler_permute(5, 0, 10000, place);
        long b = (long)sampler_permute(5, 0, 10000, place + 1);
        near += labs(a - b) <= 50; /* about one in a hundred by chance */
    }
    CU_ASSERT(near > 40 && near < 200);
}

static const struct sampler training = {
    .count = 103, .ranks = 1, .batch = 4, .accumulate = 6, .seed = 9, .shuffle = true};

static void ranks_and_accumulation_make_the_same_global_batches(void) {
    const int splits[][2] = {{2, 3}, {3, 2}, {6, 1}};
    CU_ASSERT_EQUAL(sampler_steps(&training), 4);
    for (size_t k = 0; k < sizeof(splits) / sizeof(splits[0]); k++)
        for (int64_t step = 0; step < 4; step++)
            for (int part = 0; part < 6; part++)
                for (int i = 0; i < 4; i++) {
                    struct sampler s = training;
                    s.ranks = splits[k][0];
                    s.accumulate = splits[k][1];
                    s.rank = part / s.accumulate;
                    CU_ASSERT_EQUAL(sampler_at(&s, 2, step, part % s.accumulate, i),
                                    sampler_at(&training, 2, step, part, i));
                }
}

static void count_seen(uint8_t seen[103], int64_t sample) {
    CU_ASSERT_FATAL(sample >= 0 && sample < 103);
    seen[sample]++;
}

static void training_drops_the_incomplete_batch(void) {
    uint8_t seen[103] = {0};
    for (int64_t step = 0; step < sampler_steps(&training); step++)
        for (int micro = 0; micro < 6; micro++)
            for (int i = 0; i < 4; i++)
                count_seen(seen, sampler_at(&training, 0, step, micro, i));
    int once = 0;
    for (int i = 0; i < 103; i++) {
        CU_ASSERT(seen[i] <= 1);
        once += seen[i];
    }
    CU_ASSERT_EQUAL(once, 96);
}

static void evaluation_sees_every_sample_once(void) {
    for (int ranks = 1; ranks <= 5; ranks++) {
        uint8_t seen[103] = {0};
        int padding = 0;
        int64_t steps = 0;
        for (int rank = 0; rank < ranks; rank++) {
            const struct sampler s = {
                .count = 103, .ranks = ranks, .rank = rank, .batch = 8, .accumulate = 1};
            steps = sampler_steps(&s);
            for (int64_t step = 0; step < steps; step++)
                for (int i = 0; i < 8; i++) {
                    int64_t at = sampler_at(&s, 0, step, 0, i);
                    if (at == SAMPLER_PADDING)
                        padding++;
                    else
                        count_seen(seen, at);
                }
        }
        for (int i = 0; i < 103; i++)
            CU_ASSERT_EQUAL(seen[i], 1);
        CU_ASSERT_EQUAL(padding, (int)steps * ranks * 8 - 103);
        CU_ASSERT(padding < ranks * 8);
    }
}

static void what_cannot_be_divided_is_refused(void) {
    struct error err;
    struct sampler s = training;
    CU_ASSERT_EQUAL(sampler_check(&s, &err), 0);
    s.count = 23;
    CU_ASSERT_EQUAL(sampler_check(&s, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "23 pictures do not fill one step of 24 (--batch-size 4, 1 rank, "
                              "--accumulate 6): give --batch-size 3 or less");
    s.count = 5;
    CU_ASSERT_EQUAL(sampler_check(&s, &err), -1);
    ASSERT_CONTAINS(err.text, "give fewer ranks, or a smaller --accumulate");
    s.count = 0;
    CU_ASSERT_EQUAL(sampler_check(&s, &err), -1);
    s = training;
    s.rank = 1;
    CU_ASSERT_EQUAL(sampler_check(&s, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
}

enum { GROUPED = 103, GROUPS = 4 };

/* 103 samples in groups of 50, 29, 21 and 3, numbered so that a group's lie apart. */
static void group_samples(uint32_t samples[GROUPED], struct sampler *s) {
    static const size_t sizes[GROUPS] = {50, 29, 21, 3};
    for (uint32_t i = 0; i < GROUPED; i++)
        samples[i] = i * 37 % GROUPED;
    s->groups = (struct sampler_groups){.samples = samples, .count = GROUPS};
    memcpy(s->groups.sizes, sizes, sizeof(sizes));
}

static int group_of(const struct sampler *s, int64_t sample) {
    size_t at = 0;
    for (int group = 0; group < s->groups.count; group++)
        for (size_t i = 0; i < s->groups.sizes[group]; i++)
            if (s->groups.samples[at++] == sample)
                return group;
    return -1;
}

/* Counts the samples of an epoch over all ranks, all of one group in each step. */
static void count_epoch(const struct sampler *all, uint32_t epoch, int seen[GROUPED]) {
    memset(seen, 0, GROUPED * sizeof(*seen));
    for (int64_t step = 0; step < sampler_steps(all); step++)
        for (int rank = 0; rank < all->ranks; rank++)
            for (int micro = 0; micro < all->accumulate; micro++)
                for (int i = 0; i < all->batch; i++) {
                    struct sampler s = *all;
                    s.rank = rank;
                    int64_t sample = sampler_at(&s, epoch, step, micro, i);
                    if (sample == SAMPLER_PADDING) {
                        CU_ASSERT_FALSE_FATAL(all->shuffle);
                        continue;
                    }
                    CU_ASSERT_FATAL(sample >= 0 && sample < GROUPED);
                    CU_ASSERT_EQUAL(group_of(&s, sample), sampler_group(&s, epoch, step));
                    seen[sample]++;
                }
}

static void a_batch_is_of_one_group_and_no_sample_comes_twice(void) {
    static const int splits[][3] = {{1, 4, 1}, {2, 2, 1}, {1, 1, 4}, {4, 1, 1}};
    uint32_t samples[GROUPED];
    for (size_t k = 0; k < sizeof(splits) / sizeof(splits[0]); k++) {
        struct sampler s = {.count = GROUPED, .seed = 9, .shuffle = true};
        int total[GROUPED] = {0};
        s.ranks = splits[k][0], s.batch = splits[k][1], s.accumulate = splits[k][2];
        group_samples(samples, &s);
        CU_ASSERT_EQUAL_FATAL(sampler_check(&s, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(sampler_steps(&s), 12 + 7 + 5);
        for (uint32_t epoch = 0; epoch < 20; epoch++) {
            int seen[GROUPED], by_group[GROUPS] = {0};
            count_epoch(&s, epoch, seen);
            for (int i = 0; i < GROUPED; i++) {
                CU_ASSERT(seen[i] <= 1);
                by_group[group_of(&s, i)] += seen[i];
                total[i] += seen[i];
            }
            CU_ASSERT(by_group[0] == 48 && by_group[1] == 28);
            CU_ASSERT(by_group[2] == 20 && by_group[3] == 0);
        }
        for (int i = 0; i < GROUPED; i++) /* the samples that are dropped change */
            CU_ASSERT_EQUAL(total[i] > 10, group_of(&s, i) < 3);
    }
}

static void groups_mix_over_an_epoch_and_epochs_differ(void) {
    uint32_t samples[GROUPED];
    struct sampler s = {
        .count = GROUPED, .ranks = 1, .batch = 1, .accumulate = 1, .seed = 9, .shuffle = true};
    group_samples(samples, &s);
    int changes = 0, same = 0;
    for (int64_t step = 1; step < GROUPED; step++) {
        changes += sampler_group(&s, 0, step) != sampler_group(&s, 0, step - 1);
        same += sampler_at(&s, 0, step, 0, 0) == sampler_at(&s, 1, step, 0, 0);
    }
    CU_ASSERT(changes > 40);
    CU_ASSERT(same < 10);
}

/* One, two and three ranks, and accumulation, cut the same global batches of six. */
static void ranks_share_the_same_batches_of_groups(void) {
    static const int splits[][3] = {{1, 6, 1}, {2, 3, 1}, {3, 2, 1}, {1, 2, 3}, {1, 3, 2}};
    uint32_t samples[GROUPED];
    for (uint32_t epoch = 0; epoch < 3; epoch++)
        for (int64_t step = 0; step < 8 + 4 + 3; step++)
            for (size_t k = 1; k < sizeof(splits) / sizeof(splits[0]); k++) {
                struct sampler whole = {.count = GROUPED, .seed = 5, .shuffle = true};
                group_samples(samples, &whole);
                struct sampler part = whole;
                whole.ranks = 1, whole.batch = 6, whole.accumulate = 1;
                part.ranks = splits[k][0], part.batch = splits[k][1];
                part.accumulate = splits[k][2];
                CU_ASSERT_EQUAL_FATAL(sampler_steps(&part), 8 + 4 + 3);
                CU_ASSERT_EQUAL(sampler_group(&part, epoch, step),
                                sampler_group(&whole, epoch, step));
                for (int i = 0; i < 6; i++) {
                    part.rank = i / (part.batch * part.accumulate);
                    int micro = i / part.batch % part.accumulate;
                    CU_ASSERT_EQUAL(sampler_at(&part, epoch, step, micro, i % part.batch),
                                    sampler_at(&whole, epoch, step, 0, i));
                }
            }
}

static void evaluation_sees_every_sample_of_every_group_once(void) {
    uint32_t samples[GROUPED];
    for (int ranks = 1; ranks <= 3; ranks++) {
        struct sampler s = {.count = GROUPED, .ranks = ranks, .batch = 4, .accumulate = 1};
        int seen[GROUPED], last = 0;
        group_samples(samples, &s);
        count_epoch(&s, 0, seen);
        for (int i = 0; i < GROUPED; i++)
            CU_ASSERT_EQUAL(seen[i], 1);
        for (int64_t step = 0; step < sampler_steps(&s); step++) {
            CU_ASSERT(sampler_group(&s, 0, step) >= last);
            last = sampler_group(&s, 0, step);
        }
        CU_ASSERT_EQUAL(last, 3);
    }
}

static void groups_that_do_not_add_up_are_refused(void) {
    uint32_t samples[GROUPED];
    struct error err = {0};
    struct sampler s = {
        .count = GROUPED, .ranks = 1, .batch = 4, .accumulate = 1, .seed = 9, .shuffle = true};
    group_samples(samples, &s);
    s.groups.sizes[3]++;
    CU_ASSERT_EQUAL(sampler_check(&s, &err), -1);
    s.groups.sizes[3]--;
    s.groups.count = SAMPLER_GROUPS_MAX + 1;
    CU_ASSERT_EQUAL(sampler_check(&s, &err), -1);
    s.groups.count = GROUPS;
    s.batch = 51; /* 103 samples would do, but no group has so many */
    CU_ASSERT_EQUAL(sampler_check(&s, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    s.batch = 50;
    CU_ASSERT_EQUAL(sampler_check(&s, &err), 0);
}

/* Two parts of one set: each is permuted by itself, and both have the steps of the smaller one. */
static void parts_of_a_set_have_equal_steps(void) {
    static const size_t counts[] = {103, 61};
    uint8_t seen[164] = {0};
    for (int part = 0; part < 2; part++) {
        struct sampler s = training;
        s.count = counts[part];
        s.part = (struct sampler_part){part == 0 ? 0 : counts[0], 2};
        CU_ASSERT_EQUAL(sampler_steps(&s), 2);
        CU_ASSERT_EQUAL(sampler_check(&s, NULL), 0);
        for (int64_t step = 0; step < 2; step++)
            for (int micro = 0; micro < 6; micro++)
                for (int i = 0; i < 4; i++) {
                    const int64_t sample = sampler_at(&s, 1, step, micro, i);
                    CU_ASSERT_FATAL(sample >= (int64_t)s.part.first &&
                                    sample < (int64_t)(s.part.first + s.count));
                    CU_ASSERT_EQUAL(seen[sample]++, 0);
                }
    }
}

UNIT_SUITE("data.sampler", UNIT(an_epoch_is_a_permutation),
           UNIT(seeds_and_epochs_give_other_orders), UNIT(the_order_is_the_same_in_every_build),
           UNIT(all_places_are_equally_likely), UNIT(neighbours_do_not_stay_neighbours),
           UNIT(ranks_and_accumulation_make_the_same_global_batches),
           UNIT(training_drops_the_incomplete_batch), UNIT(evaluation_sees_every_sample_once),
           UNIT(what_cannot_be_divided_is_refused),
           UNIT(a_batch_is_of_one_group_and_no_sample_comes_twice),
           UNIT(groups_mix_over_an_epoch_and_epochs_differ),
           UNIT(ranks_share_the_same_batches_of_groups),
           UNIT(evaluation_sees_every_sample_of_every_group_once),
           UNIT(groups_that_do_not_add_up_are_refused), UNIT(parts_of_a_set_have_equal_steps))
