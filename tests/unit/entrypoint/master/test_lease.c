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

/* A master of COUNT hosts in the middle of attempt 1 that may be followed. */
static struct cluster_host hosts[8];
static struct job job;
static struct succession succession;
static struct member members[8];
static struct master m;

static void set_up(size_t count) {
    struct error err;
    for (size_t i = 0; i < count; i++) {
        hosts[i] = (struct cluster_host){.slots = 1};
        members[i] = (struct member){.master = &m, .index = i};
    }
    job = (struct job){.settings = {.failover = true}, .cluster = {.hosts = hosts, .count = count}};
    CU_ASSERT_EQUAL_FATAL(succession_open(&succession, &job, &err), 0);
    m = (struct master){
        .s = {.job = &job, .succession = &succession}, .members = members, .phase = PHASE_RUNNING};
}

/* Of COUNT hosts those in the bits HEARD have answered what was sent NEW ago, all others what was
 * sent OLD ago. */
static bool is_out(size_t count, unsigned answered, int64_t new, int64_t old) {
    set_up(count);
    for (size_t i = 1; i < count; i++)
        members[i].echoed = clock_boot() - ((answered >> i & 1) != 0 ? new : old);
    bool out = lease_is_out(&m);
    CU_ASSERT(out || lease_heard(&m) > 0);
    succession_close(&succession);
    return out;
}

static void a_master_that_too_few_answer_is_out(void) {
    for (size_t count = 2; count <= 8; count++)
        for (unsigned answered = 0; answered < 1U << count; answered += 2) {
            size_t here = 1 + (size_t)__builtin_popcount(answered);
            CU_ASSERT_EQUAL(
                is_out(count, answered, 9 * CLOCK_SECOND, 10 * CLOCK_SECOND + CLOCK_MILLISECOND),
                2 * here < count);
        }
}

/* Paused for so long it has not been heard by anybody, whatever lies unread. */
static void what_counts_is_when_a_heartbeat_was_sent(void) {
    set_up(3);
    lease_begin(&m, clock_boot());
    CU_ASSERT_FALSE(lease_is_out(&m));
    for (size_t i = 1; i < 3; i++)
        members[i].echoed = clock_boot() - 11 * CLOCK_SECOND;
    CU_ASSERT(lease_is_out(&m));
    members[1].heard = members[2].heard = clock_now();
    alive(&members[1], 60 * CLOCK_SECOND, 0); /* an answer that was a minute on its way */
    CU_ASSERT(lease_is_out(&m));
    alive(&members[1], CLOCK_SECOND, 0);
    CU_ASSERT_FALSE(lease_is_out(&m));
    alive(&members[1], 60 * CLOCK_SECOND, 0);
    CU_ASSERT_FALSE(lease_is_out(&m));
    members[1].lost = true;
    CU_ASSERT(lease_is_out(&m));
    m.phase = PHASE_JUDGED;
    CU_ASSERT_FALSE(lease_is_out(&m));
    m.phase = PHASE_UPLOADING;
    CU_ASSERT(lease_is_out(&m));
    m.s.succession = NULL;
    CU_ASSERT_FALSE(lease_is_out(&m));
    succession_close(&succession);
}

UNIT_MAIN("master.lease", UNIT(the_fastest_heartbeat_tells_the_clocks_apart),
          UNIT(nonsense_is_left_alone), UNIT(a_master_that_too_few_answer_is_out),
          UNIT(what_counts_is_when_a_heartbeat_was_sent))
