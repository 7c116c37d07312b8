#include "entrypoint/outcome/fence.h"

#include "common/clock.h"
#include "tests/support/unit.h"

#include <stdlib.h>

static const int64_t lease = 10 * CLOCK_SECOND;
static const int64_t at = 1000 * CLOCK_SECOND;

static void a_host_that_fell_silent_has_its_lease_and_four_seconds(void) {
    CU_ASSERT_EQUAL(fence_of_host(at, lease, false), at + 14 * CLOCK_SECOND);
    CU_ASSERT_EQUAL(fence_of_host(at, 60 * CLOCK_SECOND, false), at + 64 * CLOCK_SECOND);
}

static void a_host_whose_first_process_has_ended_has_a_second(void) {
    CU_ASSERT_EQUAL(fence_of_host(at, lease, true), at + CLOCK_SECOND);
    CU_ASSERT_EQUAL(fence_of_host(at, 60 * CLOCK_SECOND, true), at + CLOCK_SECOND);
}

static void a_master_that_all_have_seen_end_has_a_second(void) {
    const struct fence_master seen = {.lease = lease,
                                      .heard = at,
                                      .opened = at,
                                      .complete = true,
                                      .exited = true,
                                      .ended = at + 7};
    CU_ASSERT_EQUAL(fence_of_master(&seen), at + 7 + CLOCK_SECOND);
}

static void one_that_has_not_seen_it_makes_all_wait_for_the_lease(void) {
    const struct fence_master unseen = {
        .lease = lease, .heard = at, .opened = at, .complete = true, .ended = at};
    CU_ASSERT_EQUAL(fence_of_master(&unseen), at + 14 * CLOCK_SECOND);
}

/* A missing one may follow the old master, or another host, whatever the others have seen. */
static void one_that_is_missing_makes_all_wait_for_two_leases(void) {
    struct fence_master missing = {
        .lease = lease, .heard = at, .opened = at, .exited = true, .ended = at};
    CU_ASSERT_EQUAL(fence_of_master(&missing), at + 24 * CLOCK_SECOND);
    missing.opened = at + 20 * CLOCK_SECOND;
    CU_ASSERT_EQUAL(fence_of_master(&missing), at + 32 * CLOCK_SECOND);
}

/* --- without failover ------------------------------------------------------------------------- */

enum { SILENT_RUNS = 20000 };
/* What a host takes from the end of its lease to the last rank's, at most; and a master to be sure
 * of a silence. */
static const int64_t grace = CLOCK_SECOND / 2;
static const int64_t doubt = CLOCK_SECOND / 10;

static int64_t up_to(int64_t most) {
    return most * (rand() % 1000) / 1000;
}

/* A host that is cut off at a random moment between heartbeats hears UNANSWERED more of them.
 * Returns how long its last rank outlives the fence. */
static int64_t outlives(int64_t beat, int64_t unanswered) {
    const int64_t cut = up_to(beat); /* after the heartbeat at AT, which it answered */
    const int64_t last =
        rand() % 2 == 0 ? 0 : cut; /* its last word: the answer, or a rank's line */
    const int64_t ends = at + unanswered * beat + lease + up_to(grace);
    const int64_t lost = at + last + lease + up_to(doubt);
    return ends - fence_without_failover(lost, beat, true);
}

static void no_rank_of_a_silent_host_outlives_its_fence(void) {
    int64_t most = INT64_MIN;
    int64_t beyond = INT64_MIN;
    srand(17);
    for (int i = 0; i < SILENT_RUNS; i++) {
        const int64_t beat = i % 2 == 0 ? CLOCK_SECOND / 2 : 3 * CLOCK_SECOND;
        const int64_t one = outlives(beat, rand() % (FENCE_UNANSWERED_BEATS + 1));
        const int64_t three = outlives(beat, FENCE_UNANSWERED_BEATS + 1);
        most = one > most ? one : most;
        beyond = three > beyond ? three : beyond;
    }
    CU_ASSERT(most <= 0);
    CU_ASSERT(beyond > 0); /* or it would prove nothing */
}

static void one_whose_link_has_closed_has_a_second(void) {
    CU_ASSERT_EQUAL(fence_without_failover(at, 3 * CLOCK_SECOND, false), at + CLOCK_SECOND);
    CU_ASSERT_EQUAL(fence_without_failover(at, 3 * CLOCK_SECOND, true), at + 7 * CLOCK_SECOND);
}

UNIT_SUITE("outcome.fence", UNIT(a_host_that_fell_silent_has_its_lease_and_four_seconds),
           UNIT(a_host_whose_first_process_has_ended_has_a_second),
           UNIT(a_master_that_all_have_seen_end_has_a_second),
           UNIT(one_that_has_not_seen_it_makes_all_wait_for_the_lease),
           UNIT(one_that_is_missing_makes_all_wait_for_two_leases),
           UNIT(no_rank_of_a_silent_host_outlives_its_fence),
           UNIT(one_whose_link_has_closed_has_a_second))
