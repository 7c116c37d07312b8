#include "entrypoint/outcome/straggler.h"

#include "common/clock.h"
#include "tests/support/unit.h"

#include <string.h>

enum { RANKS = 4, BEAT = 3, US = 1000000 };

static struct straggler straggler;
static bool ended[RANKS];
static struct straggler_finding found;
static int64_t now;
static unsigned said;
static double steps[RANKS];

/* Of each rank: steps in a second, and seconds of a step that are its own and that are for data. */
static struct rhythm { double rate, work, data; } rhythm[RANKS];

static void begin(size_t ranks) {
    memset(ended, 0, sizeof(ended));
    memset(rhythm, 0, sizeof(rhythm));
    memset(steps, 0, sizeof(steps));
    now = CLOCK_SECOND;
    said = 0;
    CU_ASSERT_EQUAL_FATAL(straggler_open(&straggler, ranks, NULL), 0);
}

static void set_all(struct rhythm all) {
    for (size_t i = 0; i < RANKS; i++)
        rhythm[i] = all;
}

/* So many seconds of heartbeats; the last finding stays in FOUND. */
static void run(int seconds) {
    for (int at = 0; at < seconds; at += BEAT) {
        for (size_t i = 0; i < straggler.count; i++) {
            steps[i] += rhythm[i].rate * BEAT;
            const struct straggler_rank *r = &straggler.ranks[i];
            struct straggler_point point = r->last;
            uint64_t made = (uint64_t)steps[i] - point.step;
            point.at = now;
            point.step += made;
            point.work_us += (uint64_t)((double)made * rhythm[i].work * US);
            point.data_us += (uint64_t)((double)made * rhythm[i].data * US);
            straggler_put(&straggler, i, &point);
        }
        struct straggler_finding one;
        if (straggler_judge(&straggler, ended, now, &one)) {
            said++;
            found = one;
        }
        now += BEAT * CLOCK_SECOND;
    }
}

static void ranks_alike_are_left_alone(void) {
    begin(RANKS);
    set_all((struct rhythm){.rate = 4, .work = 0.2, .data = 0.01});
    rhythm[2].work = 0.24; /* an uneven machine */
    run(600);
    CU_ASSERT_EQUAL(said, 0);
    straggler_done(&straggler);
}

/* All make two steps a second, as the slow one lets them. */
static void the_rank_that_all_wait_for_is_reported_once(void) {
    char text[STRAGGLER_TEXT_SIZE];
    begin(RANKS);
    set_all((struct rhythm){.rate = 2, .work = 0.1});
    rhythm[3] = (struct rhythm){.rate = 2, .work = 0.4, .data = 0.3};
    run(STRAGGLER_WINDOW_SECONDS + 2 * BEAT);
    CU_ASSERT_EQUAL(said, 0);
    run(STRAGGLER_WINDOW_SECONDS + 2 * BEAT);
    CU_ASSERT_EQUAL(said, 1);
    CU_ASSERT_EQUAL(found.rank, 3);
    CU_ASSERT_FALSE(found.behind);
    CU_ASSERT_DOUBLE_EQUAL(found.seconds, 0.4, 0.001);
    CU_ASSERT_DOUBLE_EQUAL(found.others, 0.1, 0.001);
    straggler_describe(&found, text);
    CU_ASSERT_STRING_EQUAL(text, "the others wait for rank 3: a step takes 0.4 s of its own time, "
                                 "0.3 s of it for data, and 0.1 s of the other 3's (median)");
    found.data = 0.03;
    straggler_describe(&found, text);
    ASSERT_CONTAINS(text, "0.4 s of its own time, and 0.1 s");
    run(600);
    CU_ASSERT_EQUAL(said, 1);
    straggler_done(&straggler);
}

/* 25 of 100: a step takes half a second, of which the others wait for an eighth and no less. */
static void the_share_is_a_quarter(void) {
    begin(RANKS);
    set_all((struct rhythm){.rate = 2, .work = 0.37});
    rhythm[1].work = 0.49;
    run(120);
    CU_ASSERT_EQUAL(said, 0);
    rhythm[1].work = 0.5;
    run(120);
    CU_ASSERT_EQUAL(said, 1);
    CU_ASSERT_EQUAL(found.rank, 1);
    straggler_done(&straggler);
}

static void a_moment_is_not_enough(void) {
    begin(RANKS);
    set_all((struct rhythm){.rate = 2, .work = 0.1});
    for (int i = 0; i < 10; i++) {
        rhythm[0].work = i % 2 == 0 ? 0.4 : 0.1;
        run(STRAGGLER_WINDOW_SECONDS);
    }
    CU_ASSERT_EQUAL(said, 0);
    straggler_done(&straggler);
}

static void steps_that_are_long_take_longer(void) {
    begin(RANKS);
    set_all((struct rhythm){.rate = 0.1, .work = 2});
    rhythm[0].work = 9;
    run(180);
    CU_ASSERT_EQUAL(said, 0);
    run(60);
    CU_ASSERT_EQUAL(said, 1);
    straggler_done(&straggler);
}

/* Nothing but steps: ranks that do not wait for each other. */
static void a_rank_that_drifts_is_behind(void) {
    char text[STRAGGLER_TEXT_SIZE];
    begin(RANKS);
    set_all((struct rhythm){.rate = 4});
    rhythm[1].rate = 3.1;
    run(300);
    CU_ASSERT_EQUAL(said, 0);
    rhythm[1].rate = 2;
    run(60);
    CU_ASSERT_EQUAL(said, 1);
    CU_ASSERT_EQUAL(found.rank, 1);
    CU_ASSERT(found.behind);
    straggler_describe(&found, text);
    ASSERT_CONTAINS(text, "rank 1 is behind: step ");
    ASSERT_CONTAINS(text, ", one in 0.5 s, the other 3 one in 0.25 s (median)");
    straggler_done(&straggler);
}

/* It was ahead, and still is. */
static void slower_and_ahead_is_not_behind(void) {
    begin(2);
    rhythm[0].rate = rhythm[1].rate = 4;
    rhythm[0].work = rhythm[1].work = 0.01;
    run(3);
    steps[0] += 100000;
    run(30);
    rhythm[0] = (struct rhythm){.rate = 1, .work = 0.9};
    run(120);
    CU_ASSERT_EQUAL(said, 0);
    straggler_done(&straggler);
}

static void one_that_stands_still_has_no_seconds(void) {
    char text[STRAGGLER_TEXT_SIZE];
    begin(RANKS);
    set_all((struct rhythm){.rate = 4});
    run(30);
    rhythm[2].rate = 0;
    run(60);
    CU_ASSERT_EQUAL(said, 1);
    straggler_describe(&found, text);
    ASSERT_CONTAINS(text, "rank 2 is behind: it stands at step ");
    straggler_done(&straggler);
}

static void two_ranks_are_enough_and_one_is_not(void) {
    begin(2);
    rhythm[0] = (struct rhythm){.rate = 2, .work = 0.1};
    rhythm[1] = (struct rhythm){.rate = 2, .work = 0.45};
    run(60);
    CU_ASSERT_EQUAL(said, 1);
    CU_ASSERT_EQUAL(found.rank, 1);
    CU_ASSERT_EQUAL(found.others_count, 1);
    straggler_done(&straggler);
    begin(2);
    ended[0] = true;
    rhythm[1] = (struct rhythm){.rate = 2, .work = 0.45};
    run(60);
    CU_ASSERT_EQUAL(said, 0);
    straggler_done(&straggler);
    begin(1);
    rhythm[0] = (struct rhythm){.rate = 2, .work = 0.45};
    run(60);
    CU_ASSERT_EQUAL(said, 0);
    straggler_done(&straggler);
}

static void where_most_are_slow_nobody_is(void) {
    begin(3);
    set_all((struct rhythm){.rate = 2, .work = 0.4});
    rhythm[1].work = 0.05;
    run(120);
    CU_ASSERT_EQUAL(said, 0);
    straggler_done(&straggler);
}

/* Two slow ranks of a slow host are reported one after the other, the worse one first. */
static void each_is_reported_for_itself(void) {
    begin(RANKS);
    set_all((struct rhythm){.rate = 2, .work = 0.1});
    rhythm[0].work = 0.3;
    rhythm[1].work = 0.4;
    run(STRAGGLER_WINDOWS * (STRAGGLER_WINDOW_SECONDS + BEAT));
    CU_ASSERT_EQUAL(said, 1);
    CU_ASSERT_EQUAL(found.rank, 1);
    run(300);
    CU_ASSERT_EQUAL(said, 2);
    CU_ASSERT_EQUAL(found.rank, 0);
    straggler_done(&straggler);
}

/* If a host's messages are late, nothing is known of it. */
static void late_words_say_nothing(void) {
    begin(2);
    rhythm[0].rate = rhythm[1].rate = 4;
    run(30);
    for (int i = 0; i < 20; i++) {
        struct straggler_point point = straggler.ranks[0].last;
        point.at = now;
        point.step += 12;
        straggler_put(&straggler, 0, &point);
        CU_ASSERT_FALSE(straggler_judge(&straggler, ended, now, &found) && now > 50 * CLOCK_SECOND);
        now += BEAT * CLOCK_SECOND;
    }
    straggler_done(&straggler);
}

static void numbers_may_be_anything(void) {
    static const uint64_t odd[] = {UINT64_MAX, 0, INT64_MAX, 1, UINT64_MAX - 1, 7};
    begin(RANKS);
    for (size_t turn = 0; turn < 4000; turn++) {
        for (size_t i = 0; i < RANKS; i++) {
            const struct straggler_point point = {.at = now,
                                                  .step = odd[(turn * 5 + i) % 6],
                                                  .work_us = odd[(turn / 3 + 2 * i) % 6],
                                                  .data_us = odd[(turn / 7 + i * i) % 6]};
            straggler_put(&straggler, i, &point);
        }
        char text[STRAGGLER_TEXT_SIZE];
        if (straggler_judge(&straggler, ended, now, &found)) {
            straggler_describe(&found, text);
            said++;
        }
        now += (int64_t)(turn % 11) * CLOCK_SECOND;
    }
    CU_ASSERT(said <= RANKS);
    straggler_done(&straggler);
}

static void many_slow_ranks_are_not_all_reported(void) {
    enum { MANY = 64 };
    static bool none[MANY];
    unsigned count = 0;
    CU_ASSERT_EQUAL_FATAL(straggler_open(&straggler, MANY, NULL), 0);
    now = CLOCK_SECOND;
    for (uint64_t beat = 1; beat < 400; beat++, now += BEAT * CLOCK_SECOND) {
        for (size_t i = 0; i < MANY; i++) {
            const struct straggler_point point = {
                .at = now, .step = beat * 6, .work_us = beat * (i < 30 ? 2400000 : 300000)};
            straggler_put(&straggler, i, &point);
        }
        count += straggler_judge(&straggler, none, now, &found);
    }
    CU_ASSERT_EQUAL(count, STRAGGLER_REPORTED_MAX);
    straggler_done(&straggler);
}

static void the_furthest_step_is_known(void) {
    begin(3);
    CU_ASSERT_EQUAL(straggler_furthest(&straggler), 0);
    straggler_put(&straggler, 1, &(struct straggler_point){.at = 1, .step = 9});
    straggler_put(&straggler, 2, &(struct straggler_point){.at = 1, .step = 5});
    CU_ASSERT_EQUAL(straggler_furthest(&straggler), 9);
    straggler_done(&straggler);
    CU_ASSERT_EQUAL(straggler_furthest(&straggler), 0);
}

UNIT_SUITE("outcome.straggler", UNIT(the_furthest_step_is_known), UNIT(ranks_alike_are_left_alone),
           UNIT(the_rank_that_all_wait_for_is_reported_once), UNIT(the_share_is_a_quarter),
           UNIT(a_moment_is_not_enough), UNIT(steps_that_are_long_take_longer),
           UNIT(a_rank_that_drifts_is_behind), UNIT(slower_and_ahead_is_not_behind),
           UNIT(one_that_stands_still_has_no_seconds), UNIT(two_ranks_are_enough_and_one_is_not),
           UNIT(where_most_are_slow_nobody_is), UNIT(each_is_reported_for_itself),
           UNIT(late_words_say_nothing), UNIT(numbers_may_be_anything),
           UNIT(many_slow_ranks_are_not_all_reported))
