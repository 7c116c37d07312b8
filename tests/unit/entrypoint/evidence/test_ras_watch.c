#include "entrypoint/evidence/ras_watch.h"

#include "common/clock.h"
#include "tests/support/unit.h"

#include <stdio.h>

static struct ras_watch watch;
static int64_t second;

/* Takes an answer in which a communicator lags by AHEAD (0: no lag). Returns for how many seconds
 * the stuck lag has lasted, -1 if none is stuck. */
static int64_t look(uint64_t ahead, bool *ret_new) {
    struct ras_answer answer = {.count = ahead > 0};
    (void)snprintf(answer.lags[0].communicator, RAS_NAME_SIZE, "aa");
    (void)snprintf(answer.lags[0].operation, RAS_NAME_SIZE, "AllReduce");
    answer.lags[0].ahead = ahead;
    answer.lags[0].count = 1;
    second += RAS_WATCH_SECONDS;
    ras_watch_take(&watch, &answer, second * CLOCK_SECOND);
    const struct ras_seen *s = ras_watch_stuck(&watch, second * CLOCK_SECOND, ret_new);
    return s != NULL ? second - s->since / CLOCK_SECOND : -1;
}

static void begin(void) {
    watch = (struct ras_watch){0};
    second = 1000;
}

static void three_answers_that_agree_are_stuck(void) {
    bool is_new = false;
    begin();
    CU_ASSERT_EQUAL(look(7, &is_new), -1);
    CU_ASSERT_EQUAL(look(7, &is_new), -1);
    CU_ASSERT_EQUAL(look(7, &is_new), 10);
    CU_ASSERT_TRUE(is_new);
    CU_ASSERT_EQUAL(look(7, &is_new), 15);
    CU_ASSERT_FALSE(is_new);
}

/* In any job that computes, the counts differ and rise. */
static void counts_that_rise_are_normal(void) {
    bool is_new = false;
    begin();
    for (uint64_t i = 1; i < 100; i++)
        CU_ASSERT_EQUAL(look(i, &is_new), -1);
}

/* Rank 0 evaluates for 25 s while the others wait: after that, four times as long is normal. */
static void a_wait_that_ended_is_normal_later(void) {
    bool is_new = false;
    begin();
    for (unsigned i = 0; i < 5; i++)
        (void)look(7, &is_new);
    CU_ASSERT_EQUAL(look(0, &is_new), -1); /* after 25 s */
    for (int64_t i = 0; i < 20; i++)
        CU_ASSERT_EQUAL(look(9, &is_new), -1);
    CU_ASSERT_EQUAL(look(9, &is_new), 100);
    CU_ASSERT_TRUE(is_new);
}

UNIT_SUITE("evidence.ras_watch", UNIT(three_answers_that_agree_are_stuck),
           UNIT(counts_that_rise_are_normal), UNIT(a_wait_that_ended_is_normal_later))
