#include "tests/support/unit.h"
#include "trainer/app/comm_check/pair_verdict.h"

enum { HOSTS = 4, PAIRS = HOSTS * (HOSTS - 1) / 2 };

/* All pairs of four hosts, all equally fast. */
static void alike(struct pair_result pairs[PAIRS]) {
    size_t count = 0;
    for (int a = 0; a < HOSTS; a++)
        for (int b = a + 1; b < HOSTS; b++)
            pairs[count++] = (struct pair_result){
                .a = a,
                .b = b,
                .tested = true,
                .transfer = {.bytes = 1 << 20, .ranks = 2, .times = 3, .seconds = 0.01}};
}

static struct pair_result *pair_of(struct pair_result pairs[PAIRS], int a, int b) {
    for (size_t i = 0; i < PAIRS; i++)
        if (pairs[i].a == a && pairs[i].b == b)
            return &pairs[i];
    return NULL;
}

static void pairs_alike_are_good(void) {
    struct pair_result pairs[PAIRS];
    alike(pairs);
    pair_of(pairs, 0, 1)->transfer.seconds = 0.02; /* half the speed is not a fault */
    pair_verdict_judge(pairs, PAIRS);
    CU_ASSERT_PTR_NULL(pair_verdict_worst(pairs, PAIRS));
    CU_ASSERT_EQUAL(pair_verdict_host(pairs, PAIRS, HOSTS), -1);
}

static void the_slowest_pair_is_the_worst(void) {
    struct pair_result pairs[PAIRS];
    alike(pairs);
    pair_of(pairs, 0, 2)->transfer.seconds = 0.05;
    pair_of(pairs, 1, 3)->transfer.seconds = 0.5;
    pair_verdict_judge(pairs, PAIRS);
    const struct pair_result *worst = pair_verdict_worst(pairs, PAIRS);
    CU_ASSERT_PTR_EQUAL_FATAL(worst, pair_of(pairs, 1, 3));
    CU_ASSERT_EQUAL(worst->state, PAIR_SLOW);
    CU_ASSERT_DOUBLE_EQUAL(worst->share, 0.02, 1e-9);
    CU_ASSERT_EQUAL(pair_of(pairs, 0, 2)->state, PAIR_SLOW);
    CU_ASSERT_EQUAL(pair_verdict_host(pairs, PAIRS, HOSTS), -1);
}

static void a_host_whose_pairs_are_all_slow_is_found(void) {
    struct pair_result pairs[PAIRS];
    alike(pairs);
    for (size_t i = 0; i < PAIRS; i++)
        if (pairs[i].a == 2 || pairs[i].b == 2)
            pairs[i].transfer.seconds = 0.2;
    pair_verdict_judge(pairs, PAIRS);
    CU_ASSERT_EQUAL(pair_verdict_host(pairs, PAIRS, HOSTS), 2);
    pair_of(pairs, 0, 1)->state = PAIR_SLOW; /* a slow pair without host 2 */
    CU_ASSERT_EQUAL(pair_verdict_host(pairs, PAIRS, HOSTS), -1);
}

/* If one of three hosts is slow, most pairs are slow, so the faster ones are the reference. */
static void of_three_hosts_the_slow_one_is_found(void) {
    struct pair_result pairs[] = {
        {.a = 0, .b = 1, .tested = true, .transfer = {.bytes = 8, .ranks = 2, .seconds = 1}},
        {.a = 0, .b = 2, .tested = true, .transfer = {.bytes = 8, .ranks = 2, .seconds = 9}},
        {.a = 1, .b = 2, .tested = true, .transfer = {.bytes = 8, .ranks = 2, .seconds = 10}}};
    pair_verdict_judge(pairs, 3);
    CU_ASSERT_EQUAL(pairs[0].state, PAIR_OK);
    CU_ASSERT_EQUAL(pair_verdict_host(pairs, 3, 3), 2);
}

static void wrong_sums_are_worse_than_slow_ones(void) {
    struct pair_result pairs[PAIRS];
    alike(pairs);
    pair_of(pairs, 0, 1)->transfer.seconds = 1;
    pair_of(pairs, 2, 3)->latency.wrong = 1;
    pair_verdict_judge(pairs, PAIRS);
    CU_ASSERT_PTR_EQUAL_FATAL(pair_verdict_worst(pairs, PAIRS), pair_of(pairs, 2, 3));
    CU_ASSERT_STRING_EQUAL(pair_state_name(pair_of(pairs, 2, 3)->state), "wrong");
}

static void what_was_not_tested_is_not_judged(void) {
    struct pair_result pairs[PAIRS];
    alike(pairs);
    for (size_t i = 1; i < PAIRS; i++)
        pairs[i].tested = false;
    pairs[1].transfer.seconds = 100;
    pair_verdict_judge(pairs, PAIRS);
    CU_ASSERT_PTR_NULL(pair_verdict_worst(pairs, PAIRS));
    CU_ASSERT_DOUBLE_EQUAL(pairs[0].share, 1, 1e-9); /* there is nothing to compare it with */
}

UNIT_SUITE("app.comm_check.pair_verdict", UNIT(pairs_alike_are_good),
           UNIT(the_slowest_pair_is_the_worst), UNIT(a_host_whose_pairs_are_all_slow_is_found),
           UNIT(of_three_hosts_the_slow_one_is_found), UNIT(wrong_sums_are_worse_than_slow_ones),
           UNIT(what_was_not_tested_is_not_judged))
