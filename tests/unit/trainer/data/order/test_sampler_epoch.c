#include "tests/support/unit.h"
#include "trainer/data/order/sampler_epoch.h"
#include "trainer/math/random.h"

#include <string.h>

enum { SAMPLES = 203, GROUPS = 4, GLOBAL = 6 };

/* 203 samples with groups of 100, 59, 41 and 3, numbered so that a group's lie apart. */
static uint32_t samples[SAMPLES];
static const size_t sizes[GROUPS] = {100, 59, 41, 3};

static struct sampler make_sampler(int (*choose)(const void *, uint32_t, uint32_t)) {
    struct sampler s = {.count = SAMPLES,
                        .ranks = 1,
                        .batch = GLOBAL,
                        .accumulate = 1,
                        .seed = 9,
                        .shuffle = true,
                        .groups = {.samples = samples, .count = GROUPS, .choose = choose}};
    for (uint32_t i = 0; i < SAMPLES; i++)
        samples[i] = i * 37 % SAMPLES;
    memcpy(s.groups.sizes, sizes, sizeof(sizes));
    s.groups.user = samples;
    CU_ASSERT_EQUAL_FATAL(sampler_check(&s, NULL), 0);
    return s;
}

static int own_group(int64_t sample) {
    size_t at = 0;
    for (int group = 0; group < GROUPS; group++)
        for (size_t i = 0; i < sizes[group]; i++)
            if (samples[at++] == sample)
                return group;
    return -1;
}

/* Its own group or a later one, as larger pictures come first. */
static int choose_any(const void *user, uint32_t epoch, uint32_t sample) {
    struct random random = random_stream(77, epoch, sample);
    CU_ASSERT_PTR_EQUAL(user, samples);
    int own = own_group(sample);
    return own + (int)random_below(&random, (uint32_t)(GROUPS - own));
}

static int choose_own(const void *user, uint32_t epoch, uint32_t sample) {
    (void)user;
    return (epoch + sample) % 2 == 0 ? own_group(sample) : -1;
}

static int choose_none_of_them(const void *user, uint32_t epoch, uint32_t sample) {
    (void)user;
    return epoch + sample > 100 ? GROUPS : -5;
}

static int choose_last(const void *user, uint32_t epoch, uint32_t sample) {
    (void)user;
    (void)epoch;
    (void)sample;
    return GROUPS - 1;
}

static void open_epoch(struct sampler_epoch *e, const struct sampler *s, uint32_t epoch) {
    CU_ASSERT_EQUAL_FATAL(sampler_epoch_init(e, s, NULL), 0);
    sampler_epoch_make(e, epoch);
    CU_ASSERT(sampler_epoch_has(e, epoch));
}

static void where_nothing_is_chosen_the_order_is_the_samplers(void) {
    static int (*const choices[])(const void *, uint32_t, uint32_t) = {NULL, choose_own,
                                                                       choose_none_of_them};
    for (size_t k = 0; k < sizeof(choices) / sizeof(choices[0]); k++)
        for (uint32_t epoch = 0; epoch < 3; epoch++) {
            const struct sampler s = make_sampler(choices[k]);
            cleanup_sampler_epoch struct sampler_epoch e = {0};
            open_epoch(&e, &s, epoch);
            CU_ASSERT_EQUAL(e.samples == NULL, choices[k] == NULL);
            for (int64_t step = 0; step < sampler_steps(&s); step++) {
                CU_ASSERT_EQUAL(sampler_epoch_group(&e, epoch, step),
                                sampler_group(&s, epoch, step));
                for (int i = 0; i < GLOBAL; i++)
                    CU_ASSERT_EQUAL(sampler_epoch_at(&e, epoch, step, 0, i),
                                    sampler_at(&s, epoch, step, 0, i));
            }
        }
}

/* All samples of a step chose its group, except for the last ones of each group, which stay in
 * their own: less than a global batch for each choice. No sample comes twice, and the samples left
 * out are those that the sampler leaves out. */
static void a_step_is_of_one_choice_or_of_one_group(void) {
    const struct sampler s = make_sampler(choose_any);
    cleanup_sampler_epoch struct sampler_epoch e = {0};
    CU_ASSERT_EQUAL_FATAL(sampler_epoch_init(&e, &s, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(sampler_steps(&s), 16 + 9 + 6);
    size_t moved = 0, chosen_not_had = 0;
    for (uint32_t epoch = 0; epoch < 20; epoch++) {
        int seen[SAMPLES] = {0}, plain[SAMPLES] = {0};
        size_t rest[GROUPS][GROUPS] = {{0}};
        sampler_epoch_make(&e, epoch);
        for (int64_t step = 0; step < sampler_steps(&s); step++) {
            const int group = sampler_epoch_group(&e, epoch, step);
            const int own = sampler_group(&s, epoch, step);
            for (int i = 0; i < GLOBAL; i++) {
                const int64_t sample = sampler_epoch_at(&e, epoch, step, 0, i);
                CU_ASSERT_FATAL(sample >= 0 && sample < SAMPLES);
                const int chosen = choose_any(samples, epoch, (uint32_t)sample);
                CU_ASSERT_EQUAL(own_group(sample), own);
                CU_ASSERT(group == chosen || group == own);
                moved += group != own;
                rest[own][chosen] += chosen != group;
                seen[sample]++;
                plain[sampler_at(&s, epoch, step, 0, i)]++;
            }
        }
        CU_ASSERT_EQUAL(memcmp(seen, plain, sizeof(seen)), 0);
        for (int i = 0; i < GROUPS * GROUPS; i++) {
            CU_ASSERT(rest[i / GROUPS][i % GROUPS] < GLOBAL);
            chosen_not_had += rest[i / GROUPS][i % GROUPS];
        }
    }
    CU_ASSERT(moved > 3 * chosen_not_had && chosen_not_had > 0);
}

static void who_is_left_out_changes(void) {
    const struct sampler s = make_sampler(choose_any);
    cleanup_sampler_epoch struct sampler_epoch e = {0};
    int total[SAMPLES] = {0};
    CU_ASSERT_EQUAL_FATAL(sampler_epoch_init(&e, &s, NULL), 0);
    for (uint32_t epoch = 0; epoch < 20; epoch++) {
        sampler_epoch_make(&e, epoch);
        for (int64_t step = 0; step < sampler_steps(&s); step++)
            for (int i = 0; i < GLOBAL; i++)
                total[sampler_epoch_at(&e, epoch, step, 0, i)]++;
    }
    for (int i = 0; i < SAMPLES; i++) /* three samples fill no batch, whatever they choose */
        CU_ASSERT(own_group(i) < 3 ? total[i] > 10 : total[i] == 0);
}

/* One, two and three ranks, and accumulation, cut the same global batches. */
static void ranks_share_the_same_steps(void) {
    static const int splits[][3] = {{2, 3, 1}, {3, 2, 1}, {1, 2, 3}, {1, 3, 2}, {3, 1, 2}};
    const struct sampler whole = make_sampler(choose_any);
    cleanup_sampler_epoch struct sampler_epoch all = {0};
    open_epoch(&all, &whole, 4);
    for (size_t k = 0; k < sizeof(splits) / sizeof(splits[0]); k++)
        for (int rank = 0; rank < splits[k][0]; rank++) {
            struct sampler s = whole;
            cleanup_sampler_epoch struct sampler_epoch part = {0};
            s.ranks = splits[k][0], s.batch = splits[k][1], s.accumulate = splits[k][2];
            s.rank = rank;
            open_epoch(&part, &s, 4);
            CU_ASSERT_EQUAL_FATAL(part.steps, all.steps);
            const int share = s.batch * s.accumulate;
            for (int64_t step = 0; step < all.steps; step++) {
                CU_ASSERT_EQUAL(sampler_epoch_group(&part, 4, step),
                                sampler_epoch_group(&all, 4, step));
                for (int i = 0; i < share; i++)
                    CU_ASSERT_EQUAL(sampler_epoch_at(&part, 4, step, i / s.batch, i % s.batch),
                                    sampler_epoch_at(&all, 4, step, 0, rank * share + i));
            }
        }
}

/* An epoch is made alike whatever was there before it, and no two are the same. */
static void an_epoch_hangs_on_its_number_alone(void) {
    const struct sampler s = make_sampler(choose_any);
    cleanup_sampler_epoch struct sampler_epoch run = {0};
    int same_groups = 0, same_samples = 0;
    open_epoch(&run, &s, 0);
    const uint32_t first = run.samples[0];
    for (uint32_t epoch = 1; epoch < 6; epoch++) {
        cleanup_sampler_epoch struct sampler_epoch resumed = {0};
        uint8_t before[64];
        CU_ASSERT_FALSE(sampler_epoch_has(&run, epoch));
        CU_ASSERT_FATAL(run.steps <= 64);
        memcpy(before, run.groups, (size_t)run.steps);
        sampler_epoch_make(&run, epoch);
        open_epoch(&resumed, &s, epoch);
        CU_ASSERT_EQUAL(
            memcmp(run.samples, resumed.samples, (size_t)run.steps * GLOBAL * sizeof(*run.samples)),
            0);
        CU_ASSERT_EQUAL(memcmp(run.groups, resumed.groups, (size_t)run.steps), 0);
        same_groups += memcmp(before, run.groups, (size_t)run.steps) == 0;
        same_samples += run.samples[0] == first;
    }
    CU_ASSERT(same_groups == 0 && same_samples < 5);
    sampler_epoch_make(&run, 0);
    CU_ASSERT_EQUAL(run.samples[0], first);
}

/* What all choose fills whole batches of each group; the rest of it stays at home. */
static void a_choice_of_all_takes_all_whole_batches(void) {
    const struct sampler s = make_sampler(choose_last);
    cleanup_sampler_epoch struct sampler_epoch e = {0};
    open_epoch(&e, &s, 1);
    for (int64_t step = 0; step < e.steps; step++)
        CU_ASSERT_EQUAL(sampler_epoch_group(&e, 1, step), GROUPS - 1);
}

static void an_evaluation_chooses_nothing(void) {
    struct sampler s = make_sampler(choose_any);
    struct sampler_epoch e = {0};
    struct error err = {0};
    s.shuffle = false;
    CU_ASSERT_EQUAL(sampler_epoch_init(&e, &s, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_INTERNAL);
}

UNIT_SUITE("data.sampler_epoch", UNIT(where_nothing_is_chosen_the_order_is_the_samplers),
           UNIT(a_step_is_of_one_choice_or_of_one_group), UNIT(who_is_left_out_changes),
           UNIT(ranks_share_the_same_steps), UNIT(an_epoch_hangs_on_its_number_alone),
           UNIT(a_choice_of_all_takes_all_whole_batches), UNIT(an_evaluation_chooses_nothing))
