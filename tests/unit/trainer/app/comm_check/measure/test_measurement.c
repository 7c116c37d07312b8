#include "tests/support/unit.h"
#include "trainer/app/comm_check/measure/measurement.h"
#include "trainer/app/comm_check/measure/trial_values.h"
#include "trainer/comm/comm_driver.h"

#include <string.h>

/* Two ranks, of which the other one is played: its values are added, with an error at the PLACE. */
struct pair {
    struct comm comm;
    int place; /* -1: none */
    int32_t times;
};

static int sum_start(struct comm *c, void *values, size_t count, enum comm_type type,
                     uint64_t *ret_ticket, struct error *err) {
    struct pair *p = (struct pair *)c;
    float *sums = values;
    static float other[1 << 12];
    (void)err;
    CU_ASSERT_EQUAL_FATAL(type, COMM_F32);
    CU_ASSERT_FATAL(count <= sizeof(other) / sizeof(other[0]));
    trial_values_fill(other, count, 1);
    for (size_t i = 0; i < count; i++)
        sums[i] += other[i] + (float)((int)i == p->place);
    p->times++;
    *ret_ticket = 1;
    return 0;
}
static int wait_for(struct comm *c, uint64_t ticket, struct error *err) {
    (void)c, (void)ticket, (void)err;
    return 0;
}
static int broadcast(struct comm *c, void *bytes, size_t size, int root, struct error *err) {
    (void)c, (void)bytes, (void)size, (void)root, (void)err;
    return 0;
}
static int barrier(struct comm *c, struct error *err) {
    (void)c, (void)err;
    return 0;
}
/* The other rank is twice as slow. */
static int gather(struct comm *c, const void *bytes, size_t size, void *all, struct error *err) {
    struct measurement *both = all;
    (void)c, (void)err;
    CU_ASSERT_EQUAL_FATAL(size, sizeof(*both));
    memcpy(&both[0], bytes, size);
    memcpy(&both[1], bytes, size);
    both[1].seconds *= 2;
    return 0;
}
static const struct comm_driver DRIVER = {.sum_start = sum_start,
                                          .wait = wait_for,
                                          .broadcast = broadcast,
                                          .barrier = barrier,
                                          .gather = gather};

static struct measurement measured(int place, int32_t *ret_times) {
    struct pair p = {.comm = {.driver = &DRIVER, .size = 2}, .place = place};
    struct measurement m = {0};
    struct reducer r;
    CU_ASSERT_EQUAL_FATAL(reducer_open(&r, REDUCER_MPI, &p.comm, 0, 4096, NULL), 0);
    CU_ASSERT_EQUAL(measurement_take(&r, &p.comm, 4096, 0.01, &m, NULL), 0);
    CU_ASSERT_EQUAL(reducer_close(&r), 0);
    *ret_times = p.times;
    return m;
}

static void right_sums_are_timed_on_the_slowest_rank(void) {
    int32_t times = 0;
    struct measurement m = measured(-1, &times);
    CU_ASSERT_EQUAL(m.wrong, 0);
    CU_ASSERT_EQUAL(m.bytes, 4096);
    CU_ASSERT_EQUAL(m.ranks, 2);
    CU_ASSERT(m.times >= 1 && m.times <= MEASURE_TIMES_MAX && times == m.times + 1);
    CU_ASSERT(m.seconds > 0);
}

static void wrong_sums_of_all_ranks_are_counted(void) {
    int32_t times = 0;
    struct measurement m = measured(1023, &times);
    CU_ASSERT_EQUAL(m.wrong, 2 * (uint64_t)times);
}

static void bus_bandwidth_is_that_of_nccl_tests(void) {
    /* all_reduce_perf on 16 GPUs: 16 MiB in 298.1 us are 56.28 GB/s, 105.52 on the bus. */
    const struct measurement m = {.bytes = 16 << 20, .ranks = 16, .seconds = 298.1e-6};
    CU_ASSERT_DOUBLE_EQUAL(measurement_bus_rate(&m) / 1e9, 105.52, 0.02);
    CU_ASSERT_EQUAL(measurement_bus_rate(&(struct measurement){.bytes = 8, .ranks = 2}), 0);
}

UNIT_SUITE("app.comm_check.measure.measurement", UNIT(right_sums_are_timed_on_the_slowest_rank),
           UNIT(wrong_sums_of_all_ranks_are_counted), UNIT(bus_bandwidth_is_that_of_nccl_tests))
