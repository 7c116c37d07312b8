#include "entrypoint/host/ranks/rank_stillness.h"

#include "common/clock.h"
#include "common/json/json.h"
#include "entrypoint/host/monitor/cpu_time.h"
#include "entrypoint/host/ranks/rank_slot.h"
#include "tests/support/held_clock.h"
#include "tests/support/unit.h"

/* The processor time of all processes, as test_rank_monitor.c has it for its own. */
static struct job job;
static const struct services services = {.job = &job};
static struct rank_slot slots[2];
static struct rank_set set;

/* Links are only compared with NULL here. */
static void begin(void) {
    held_clock_begin();
    slots[0] = (struct rank_slot){.rank = 4, .shim = 71, .link = (struct link *)&set};
    slots[1] = (struct rank_slot){.rank = 5, .shim = 72, .link = (struct link *)&set};
    slots[0].next = &slots[1];
    slots[1].next = NULL;
    job = (struct job){.settings = {.evidence = true}};
    set = (struct rank_set){.services = &services, .slots = slots, .started = true, .attempt = 3};
}

static int64_t still(void) {
    struct rank_stillness s = rank_stillness_look(&set, clock_now());
    return s.still < 0 ? s.still : s.still / CLOCK_SECOND;
}

static void the_rank_that_moved_last_counts(void) {
    begin();
    CU_ASSERT_EQUAL(still(), 0);
    held_clock_pass(3 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(still(), 3);
    slots[1].out.bytes++;
    held_clock_pass(CLOCK_SECOND);
    CU_ASSERT_EQUAL(still(), 0);
    slots[0].error_out.bytes++;
    held_clock_pass(2 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(still(), 0);
    held_clock_pass(2 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(still(), 2);
    slots[0].reported = true; /* it has ended: the other one has been still for longer */
    CU_ASSERT_EQUAL(still(), 4);
    slots[1].link = NULL;
    CU_ASSERT_EQUAL(still(), -1);
    held_clock_end();
}

static void an_answer_to_a_signal_is_no_sign(void) {
    begin();
    (void)still();
    held_clock_pass(12 * CLOCK_SECOND);
    rank_stillness_echo(&set, clock_now() + 2 * CLOCK_SECOND);
    held_clock_pass(CLOCK_SECOND);
    slots[0].error_out.bytes += 500;
    CU_ASSERT_EQUAL(still(), 13);
    held_clock_pass(CLOCK_SECOND);
    CU_ASSERT_EQUAL(still(), 14);
    slots[1].out.bytes++;
    CU_ASSERT_EQUAL(still(), 0);
    held_clock_end();
}

/* Processes of this test use none while its clock is held. */
static void idle_is_known_after_two_readings(void) {
    begin();
    (void)still();
    held_clock_pass(5 * CLOCK_SECOND);
    CU_ASSERT_TRUE(rank_stillness_look(&set, clock_now()).busy);
    held_clock_pass(CLOCK_SECOND);
    CU_ASSERT_TRUE(rank_stillness_look(&set, clock_now()).busy);
    held_clock_pass(3600 * CLOCK_SECOND);
    CU_ASSERT_FALSE(rank_stillness_look(&set, clock_now()).busy);
    slots[0].out.bytes++;
    CU_ASSERT_TRUE(rank_stillness_look(&set, clock_now()).busy);
    held_clock_end();
}

static void a_heartbeat_says_it(void) {
    begin();
    cleanup_json json_t *message = json_object();
    (void)still();
    held_clock_pass(1500 * CLOCK_MILLISECOND);
    rank_stillness_put(&set, message);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(message, "still")), 1500);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(message, "attempt")), 3);
    CU_ASSERT_TRUE(json_is_true(json_object_get(message, "busy")));
    (void)json_object_clear(message);
    job.settings.evidence = false;
    rank_stillness_put(&set, message);
    job.settings.evidence = true;
    set.started = false;
    rank_stillness_put(&set, message);
    CU_ASSERT_EQUAL(json_object_size(message), 0);
    held_clock_end();
}

static void ranks_that_run_are_listed(void) {
    struct gather_rank ranks[2];
    begin();
    CU_ASSERT_EQUAL(rank_stillness_list(&set, ranks, 2), 2);
    CU_ASSERT_EQUAL(ranks[1].rank, 5);
    CU_ASSERT_EQUAL(ranks[1].shim, 72);
    CU_ASSERT_EQUAL(rank_stillness_list(&set, ranks, 1), 1);
    slots[0].reported = true;
    CU_ASSERT_EQUAL(rank_stillness_list(&set, ranks, 2), 1);
    CU_ASSERT_EQUAL(ranks[0].rank, 5);
    held_clock_end();
}

UNIT_SUITE("host.rank_stillness", UNIT(the_rank_that_moved_last_counts),
           UNIT(an_answer_to_a_signal_is_no_sign), UNIT(idle_is_known_after_two_readings),
           UNIT(a_heartbeat_says_it), UNIT(ranks_that_run_are_listed))
