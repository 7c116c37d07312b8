#include "trainer/app/device/threads.h"

#include "tests/support/unit.h"
#include "trainer/app/device/cpus.h"
#include "trainer/comm/comm.h"
#include "trainer/comm/comm_driver.h"

#include <omp.h>

static struct threads settle(int64_t threads, int64_t data_threads) {
    cleanup_comm struct comm *comm = NULL;
    const struct options options = {.threads = threads, .data_threads = data_threads};
    struct threads settled = {0};
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&comm, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(threads_settle(&settled, &options, comm, NULL), 0);
    CU_ASSERT_EQUAL(omp_get_max_threads(), settled.compute);
    return settled;
}

static void flags_are_taken_as_they_are(void) {
    struct threads t = settle(3, 5);
    CU_ASSERT(t.compute == 3 && t.data == 5);
    t = settle(1, 1);
    CU_ASSERT(t.compute == 1 && t.data == 1);
}

static void half_as_many_decode_as_compute_but_one_at_least(void) {
    static const int wanted[] = {1, 1, 2, 2, 3};
    for (int compute = 1; compute <= 5; compute++)
        CU_ASSERT_EQUAL(settle(compute, 0).data, wanted[compute - 1]);
}

static void without_flags_the_cores_decide(void) {
    struct cpus cpus;
    cleanup_comm struct comm *comm = NULL;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&comm, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(cpus_find(&cpus, comm, NULL), 0);
    CU_ASSERT_EQUAL(settle(0, 0).compute, cpus_threads(&cpus, 1, 1));
}

static int fail(struct comm *c, const void *bytes, size_t size, void *all, struct error *err) {
    (void)c, (void)bytes, (void)size, (void)all;
    return error_set(err, EXIT_CODE_STALLED, "a rank is gone");
}

/* All ranks are asked where they are. */
static void ranks_that_do_not_answer_are_an_error(void) {
    static const struct comm_driver driver = {.gather = fail};
    struct comm two = {.driver = &driver, .size = 2, .local_size = 2};
    const struct options options = {.threads = 1};
    struct threads settled;
    struct error err = {0};
    CU_ASSERT_EQUAL(threads_settle(&settled, &options, &two, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_STALLED);
    ASSERT_CONTAINS(err.text, "a rank is gone");
}

UNIT_SUITE("device.threads", UNIT(flags_are_taken_as_they_are),
           UNIT(half_as_many_decode_as_compute_but_one_at_least),
           UNIT(without_flags_the_cores_decide), UNIT(ranks_that_do_not_answer_are_an_error))
