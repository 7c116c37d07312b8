#include "master/lease.h"

#include "common/clock.h"
#include "support/unit.h"
#include "wire/frame.h"

static void alive(struct member *b, int64_t trip, int64_t ahead) {
    json_t *message = frame_new("alive");
    int64_t now = clock_boot();
    (void)json_object_set_new(message, "echo", json_integer(now - trip));
    (void)json_object_set_new(message, "time", json_integer(now - trip / 2 + ahead));
    lease_alive(b, message);
    json_decref(message);
}

static bool is_near(int64_t value, int64_t expected) {
    int64_t off = value - expected;
    return off > -20 * CLOCK_MILLISECOND && off < 20 * CLOCK_MILLISECOND;
}

/* A host whose clock is 5 s ahead; the slow heartbeat would tell it wrongly. */
static void the_fastest_heartbeat_tells_the_clocks_apart(void) {
    struct member b = {0};
    alive(&b, 2 * CLOCK_MILLISECOND, 5 * CLOCK_SECOND);
    CU_ASSERT(is_near(b.offset, 5 * CLOCK_SECOND));
    alive(&b, CLOCK_SECOND, 9 * CLOCK_SECOND);
    CU_ASSERT(is_near(b.offset, 5 * CLOCK_SECOND));
}

static void nonsense_is_left_alone(void) {
    struct member b = {0};
    alive(&b, -5 * CLOCK_SECOND, 0);
    CU_ASSERT_EQUAL(b.trip, 0);
    json_t *message = frame_new("alive");
    lease_alive(&b, message);
    (void)json_object_set_new(message, "echo", json_string("soon"));
    lease_alive(&b, message);
    json_decref(message);
    CU_ASSERT_EQUAL(b.trip, 0);
    CU_ASSERT_EQUAL(b.offset, 0);
    alive(&b, CLOCK_MILLISECOND, INT64_MIN / 2);
    alive(&b, CLOCK_MILLISECOND, INT64_MAX / 2);
    CU_ASSERT_EQUAL(b.trip, 0);
    CU_ASSERT_EQUAL(b.offset, 0);
}

UNIT_MAIN("master.lease", UNIT(the_fastest_heartbeat_tells_the_clocks_apart),
          UNIT(nonsense_is_left_alone))
