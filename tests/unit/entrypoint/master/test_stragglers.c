#include "entrypoint/master/stragglers.h"

#include "common/clock.h"
#include "entrypoint/wire/frame.h"
#include "tests/support/unit.h"

static struct cluster_host two[2];
static struct job job;
static struct master m;
static struct member members[2];

static void open_master(void) {
    two[0] = (struct cluster_host){.name = {"algo-1"}, .slots = 1};
    two[1] = (struct cluster_host){.name = {"algo-2"}, .slots = 2};
    job = (struct job){.settings = {.dead_seconds = 10}, .cluster = {.hosts = two, .count = 2}};
    m = (struct master){.s = {.job = &job}, .phase = PHASE_RUNNING, .members = members};
    for (size_t i = 0; i < 2; i++)
        members[i] = (struct member){.master = &m, .index = i};
    CU_ASSERT_EQUAL_FATAL(attempt_open(&m.attempt, 3, &job.cluster, NULL), 0);
}

static void hear(int attempt, const char *ranks) {
    json_t *message = frame_new("alive");
    (void)json_object_set_new(message, "attempt", json_integer(attempt));
    (void)json_object_set_new(message, "ranks", json_loads(ranks, JSON_DECODE_ANY, NULL));
    stragglers_receive(&members[1], message);
    json_decref(message);
}

static uint64_t step_of(size_t rank) {
    return m.attempt.straggler.ranks[rank].last.step;
}

static void a_heartbeat_tells_how_far_ranks_are(void) {
    open_master();
    hear(3, "[[1, 20, 4000, 30], [2, 21, 5000, 0]]");
    const struct straggler_point *point = &m.attempt.straggler.ranks[1].last;
    CU_ASSERT(point->at > 0 && point->at <= clock_now());
    CU_ASSERT_EQUAL(point->step, 20);
    CU_ASSERT_EQUAL(point->work_us, 4000);
    CU_ASSERT_EQUAL(point->data_us, 30);
    CU_ASSERT_EQUAL(step_of(2), 21);
    attempt_done(&m.attempt);
}

static void of_its_own_ranks_and_this_attempt_alone(void) {
    open_master();
    hear(2, "[[1, 20, 0, 0]]");
    hear(3, "[[0, 20, 0, 0], [3, 20, 0, 0], [9223372036854775807, 1, 1, 1]]");
    m.phase = PHASE_CLEARING;
    hear(3, "[[2, 20, 0, 0]]");
    for (size_t i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(step_of(i), 0);
    attempt_done(&m.attempt);
}

static void nonsense_is_left_alone(void) {
    static const char *const bad[] = {"7",
                                      "{}",
                                      "[7, null, []]",
                                      "[[1, 20, 0]]",
                                      "[[1, 20, 0, 0, 0]]",
                                      "[[1, -20, 0, 0]]",
                                      "[[1, \"20\", 0, 0]]",
                                      "[[1, 20, 0.5, 0]]"};
    open_master();
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        hear(3, bad[i]);
        CU_ASSERT_EQUAL(step_of(1), 0);
    }
    hear(3, "[[], [1, 20, 0, 0]]");
    CU_ASSERT_EQUAL(step_of(1), 20);
    attempt_done(&m.attempt);
}

UNIT_SUITE("master.stragglers", UNIT(a_heartbeat_tells_how_far_ranks_are),
           UNIT(of_its_own_ranks_and_this_attempt_alone), UNIT(nonsense_is_left_alone))
