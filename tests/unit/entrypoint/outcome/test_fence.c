#include "entrypoint/outcome/fence.h"

#include "common/clock.h"
#include "tests/support/unit.h"

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

UNIT_SUITE("outcome.fence", UNIT(a_host_that_fell_silent_has_its_lease_and_four_seconds),
           UNIT(a_host_whose_first_process_has_ended_has_a_second),
           UNIT(a_master_that_all_have_seen_end_has_a_second),
           UNIT(one_that_has_not_seen_it_makes_all_wait_for_the_lease),
           UNIT(one_that_is_missing_makes_all_wait_for_two_leases))
