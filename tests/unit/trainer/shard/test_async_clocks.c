#include "common/clock.h"
#include "tests/support/unit.h"
#include "trainer/shard/async_clocks.h"
#include "trainer/shard/async_wire.h"

static struct async_clocks open_clocks(int workers, int64_t staleness) {
    struct async_clocks c;
    CU_ASSERT_EQUAL_FATAL(async_clocks_open(&c, workers, staleness, 0, NULL), 0);
    return c;
}

/* WORKER finishes step CLOCK. Returns whether it may go on, and what all workers do then in
 * *RET_WISHES. */
static bool step(struct async_clocks *c, int worker, int64_t clock, unsigned wishes,
                 unsigned *ret_wishes) {
    async_clocks_push(c, worker, clock, wishes);
    if (!async_clocks_may_go(c, worker))
        return false;
    *ret_wishes = async_clocks_go(c, worker, 0);
    return true;
}

static void the_fastest_waits_for_the_slowest(void) {
    struct async_clocks c = open_clocks(3, 2);
    unsigned told = 0;
    CU_ASSERT_TRUE(step(&c, 0, 1, 0, &told));
    CU_ASSERT_TRUE(step(&c, 0, 2, 0, &told));
    CU_ASSERT_FALSE(step(&c, 0, 3, 0, &told));
    CU_ASSERT_TRUE(step(&c, 1, 1, 0, &told));
    CU_ASSERT_FALSE(async_clocks_may_go(&c, 0));
    CU_ASSERT_EQUAL(async_clocks_slowest(&c), 0);
    CU_ASSERT_TRUE(step(&c, 2, 1, 0, &told));
    CU_ASSERT_TRUE(async_clocks_may_go(&c, 0));
    CU_ASSERT_EQUAL(async_clocks_slowest(&c), 1);
    async_clocks_done(&c);
}

static void with_none_they_go_together(void) {
    struct async_clocks c = open_clocks(2, 0);
    unsigned told = 0;
    CU_ASSERT_FALSE(step(&c, 1, 1, 0, &told));
    CU_ASSERT_TRUE(step(&c, 0, 1, 0, &told));
    CU_ASSERT_TRUE(async_clocks_may_go(&c, 1));
    async_clocks_done(&c);
}

static void a_lost_one_holds_nobody_up(void) {
    struct async_clocks c = open_clocks(2, 0);
    unsigned told = 0;
    CU_ASSERT_FALSE(step(&c, 0, 1, 0, &told));
    async_clocks_leave(&c, 1);
    CU_ASSERT_TRUE(async_clocks_may_go(&c, 0));
    CU_ASSERT_EQUAL(async_clocks_live(&c), 1);
    async_clocks_leave(&c, 0);
    CU_ASSERT_FALSE(async_clocks_all_meet(&c));
    CU_ASSERT_EQUAL(async_clocks_live(&c), 0);
    async_clocks_done(&c);
}

/* All workers learn of a wish after the same step, the first one that no worker has passed. */
static void all_halt_after_one_step(void) {
    struct async_clocks c = open_clocks(3, 4);
    unsigned told = 0;
    CU_ASSERT_TRUE(step(&c, 0, 1, 0, &told));
    CU_ASSERT_TRUE(step(&c, 0, 2, 0, &told));
    CU_ASSERT_TRUE(step(&c, 1, 1, ASYNC_SAVE, &told));
    CU_ASSERT_EQUAL(told, 0);
    CU_ASSERT_EQUAL(c.halt, 3);
    CU_ASSERT_TRUE(step(&c, 0, 3, 0, &told));
    CU_ASSERT_EQUAL(told, ASYNC_SAVE);
    async_clocks_meet(&c, 0);
    for (int worker = 1; worker < 3; worker++) {
        for (int64_t clock = worker == 1 ? 2 : 1; clock <= 3; clock++) {
            CU_ASSERT_TRUE(step(&c, worker, clock, 0, &told));
            CU_ASSERT_EQUAL(told, clock == 3 ? ASYNC_SAVE : 0);
        }
        CU_ASSERT_FALSE(async_clocks_all_meet(&c));
        async_clocks_meet(&c, worker);
    }
    CU_ASSERT_TRUE(async_clocks_all_meet(&c));
    async_clocks_part(&c, 0);
    CU_ASSERT_EQUAL(c.halt, 0);
    CU_ASSERT_TRUE(step(&c, 0, 4, 0, &told));
    CU_ASSERT_EQUAL(told, 0);
    async_clocks_done(&c);
}

/* The first worker is at a meeting that all know of already, so it learns of the wish a step later,
 * and so do the others. */
static void a_wish_on_the_way_to_a_meeting_comes_after_it(void) {
    struct async_clocks c = open_clocks(2, 4);
    unsigned told = 0;
    CU_ASSERT_TRUE(step(&c, 0, 1, 0, &told));
    async_clocks_meet(&c, 0);
    CU_ASSERT_TRUE(step(&c, 1, 1, ASYNC_STOP, &told));
    CU_ASSERT_EQUAL(told, 0);
    async_clocks_meet(&c, 1);
    CU_ASSERT_TRUE(async_clocks_all_meet(&c));
    async_clocks_part(&c, 0);
    for (int worker = 0; worker < 2; worker++) {
        CU_ASSERT_TRUE(step(&c, worker, 2, 0, &told));
        CU_ASSERT_EQUAL(told, ASYNC_STOP);
    }
    async_clocks_done(&c);
}

static void one_that_meets_alone_fails_all(void) {
    struct async_clocks c = open_clocks(2, 1);
    unsigned told = 0;
    CU_ASSERT_TRUE(step(&c, 0, 1, 0, &told));
    async_clocks_meet(&c, 0);
    CU_ASSERT_TRUE(step(&c, 1, 1, 0, &told));
    CU_ASSERT_EQUAL(told, 0);
    CU_ASSERT_TRUE(step(&c, 1, 2, 0, &told));
    CU_ASSERT_EQUAL(told, ASYNC_FAIL);
    async_clocks_meet(&c, 1);
    CU_ASSERT_TRUE(async_clocks_all_meet(&c));
    async_clocks_done(&c);
    c = open_clocks(2, 4);
    CU_ASSERT_TRUE(step(&c, 0, 1, 0, &told));
    CU_ASSERT_TRUE(step(&c, 1, 1, 0, &told));
    CU_ASSERT_TRUE(step(&c, 1, 2, 0, &told));
    async_clocks_meet(&c, 0);
    CU_ASSERT_TRUE(step(&c, 1, 3, 0, &told));
    CU_ASSERT_EQUAL(told, ASYNC_FAIL);
    async_clocks_done(&c);
}

static void a_silent_one_is_late(void) {
    const int64_t limit = ASYNC_STEP_SECONDS * CLOCK_SECOND;
    struct async_clocks c = open_clocks(2, 1);
    unsigned told = 0;
    CU_ASSERT_EQUAL(async_clocks_deadline(&c), limit);
    CU_ASSERT_EQUAL(async_clocks_late(&c, limit - 1), -1);
    CU_ASSERT_TRUE(step(&c, 0, 1, 0, &told));
    CU_ASSERT_FALSE(step(&c, 0, 2, 0, &told));
    /* A worker that waits is not late. */
    CU_ASSERT_EQUAL(async_clocks_late(&c, limit), 1);
    async_clocks_leave(&c, 1);
    CU_ASSERT_EQUAL(async_clocks_late(&c, 9 * limit), -1);
    CU_ASSERT_EQUAL(async_clocks_deadline(&c), INT64_MAX);
    CU_ASSERT_EQUAL(async_clocks_go(&c, 0, limit), 0);
    CU_ASSERT_EQUAL(async_clocks_deadline(&c), 2 * limit);
    /* An evaluation may follow a meeting. */
    async_clocks_meet(&c, 0);
    async_clocks_part(&c, limit);
    CU_ASSERT_EQUAL(async_clocks_deadline(&c), limit + ASYNC_MEETING_SECONDS * CLOCK_SECOND);
    async_clocks_done(&c);
}

UNIT_SUITE("shard.async_clocks", UNIT(the_fastest_waits_for_the_slowest),
           UNIT(with_none_they_go_together), UNIT(a_lost_one_holds_nobody_up),
           UNIT(all_halt_after_one_step), UNIT(a_wish_on_the_way_to_a_meeting_comes_after_it),
           UNIT(one_that_meets_alone_fails_all), UNIT(a_silent_one_is_late))
