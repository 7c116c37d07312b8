/* Two ranks with a device each, one process a rank, against one rank that takes both ranks'
 * batches: the same bits, whichever way gradients are summed. */
#include "tests/cuda/emulated.h"
#include "tests/cuda/training.h"
#include "tests/support/unit.h"
#include "trainer/comm/comm.h"
#include "trainer/comm/comm_driver.h"

#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 2, STEPS = 3, ROOM = 1 << 20 };

/* Memory of both processes. */
struct meeting {
    pthread_barrier_t barrier;
    float values[RANKS][ROOM];
    struct training_outcome outcome[RANKS];
    float weights[RANKS][ROOM];
    int sums[RANKS], joins[RANKS], started[RANKS];
    int bad[RANKS];
};

static struct meeting *meeting;
static int own;

static void add_up(float *values, size_t count) {
    memcpy(meeting->values[own], values, count * sizeof(float));
    (void)pthread_barrier_wait(&meeting->barrier);
    for (size_t i = 0; i < count; i++)
        values[i] = meeting->values[0][i] + meeting->values[1][i];
    (void)pthread_barrier_wait(&meeting->barrier);
}

/* --- a communicator in host memory -------------------------------------------------------------
 */
static int sum_start(struct comm *c, void *values, size_t count, enum comm_type type,
                     uint64_t *ret_ticket, struct error *err) {
    (void)c, (void)err;
    meeting->bad[own] += type != COMM_F32 || count > ROOM;
    meeting->sums[own]++;
    add_up(values, count);
    *ret_ticket = 0;
    return 0;
}

static int wait_for_sum(struct comm *c, uint64_t ticket, struct error *err) {
    (void)c, (void)ticket, (void)err;
    return 0;
}

/* --- sums between devices ----------------------------------------------------------------------
 */
static int device_start(struct device_sum *s, void *queue, void *values, size_t count,
                        struct error *err) {
    (void)s, (void)queue, (void)err;
    meeting->bad[own] += count > ROOM;
    meeting->started[own]++;
    add_up(values, count);
    return 0;
}

static int device_join(struct device_sum *s, void *queue, struct error *err) {
    (void)s, (void)queue, (void)err;
    meeting->joins[own]++;
    return 0;
}

static bool expecting;

static void device_expect(struct device_sum *s, int64_t deadline) {
    (void)s;
    expecting = deadline > 0;
}

/* Sums are judged after an announced wait, and only then. */
static int device_check(struct device_sum *s, struct error *err) {
    (void)s, (void)err;
    meeting->bad[own] += !expecting;
    expecting = false;
    return 0;
}

static struct training training_of(int micro_batches) {
    return (struct training){.dtype = DTYPE_F32,
                             .fusion = FUSION_NORM,
                             .batch = 2,
                             .accumulate = micro_batches,
                             .steps = STEPS,
                             .decay_all = true,
                             .rate = 0.01};
}

static void be_a_rank(bool between_devices) {
    static const struct comm_driver host = {.sum_start = sum_start, .wait = wait_for_sum};
    static const struct device_sum_driver between = {
        .start = device_start, .join = device_join, .expect = device_expect, .check = device_check};
    struct comm comm = {.driver = &host, .rank = own, .size = RANKS, .local_size = RANKS};
    struct device_sum sums = {.driver = &between};
    struct error err = {0};
    struct backend *device = NULL;
    struct training t = training_of(1);
    struct training_outcome outcome = {0};
    t.comm = &comm;
    t.sums = between_devices ? &sums : NULL;
    t.first_micro = own;
    CU_ASSERT_EQUAL_FATAL(emulated_open(&device, true, &err), 0);
    meeting->bad[own] += training_try(device, &t, &outcome, &err) != 0;
    meeting->bad[own] += outcome.count > ROOM;
    memcpy(meeting->weights[own], outcome.weights, outcome.count * sizeof(float));
    meeting->outcome[own] = outcome;
    training_done(&outcome);
    backend_close(device);
}

static void run_two(bool between_devices) {
    pthread_barrierattr_t shared;
    meeting =
        mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(meeting != MAP_FAILED);
    (void)pthread_barrierattr_init(&shared);
    (void)pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    (void)pthread_barrier_init(&meeting->barrier, &shared, RANKS);
    pid_t child = fork();
    CU_ASSERT_FATAL(child >= 0);
    own = child == 0;
    be_a_rank(between_devices);
    if (child == 0)
        _exit(0);
    int status = 0;
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* What one rank makes of both micro-batches. */
static struct training_outcome run_one(void) {
    struct error err = {0};
    struct training_outcome outcome = {0};
    struct training t = training_of(RANKS);
    struct backend *device = NULL;
    CU_ASSERT_EQUAL_FATAL(emulated_open(&device, true, &err), 0);
    training_run(device, &t, &outcome);
    backend_close(device);
    return outcome;
}

static void compare(bool between_devices) {
    omp_set_num_threads(1); /* a fork takes no threads of OpenMP along */
    struct training_outcome one = run_one();
    run_two(between_devices);
    for (int rank = 0; rank < RANKS; rank++) {
        CU_ASSERT_EQUAL(meeting->bad[rank], 0);
        CU_ASSERT_EQUAL(meeting->outcome[rank].count, one.count);
        CU_ASSERT_EQUAL(
            memcmp(meeting->weights[rank], one.weights, one.count * sizeof(*one.weights)), 0);
        for (int i = 0; i < STEPS; i++)
            CU_ASSERT_DOUBLE_EQUAL(meeting->outcome[rank].losses[i], one.losses[i], 1e-6);
    }
    training_done(&one);
}

static void ranks_that_share_a_gpu_sum_through_host_memory(void) {
    compare(false);
    CU_ASSERT_EQUAL(meeting->sums[0], STEPS);
    CU_ASSERT_EQUAL(meeting->started[0], 0);
    (void)munmap(meeting, sizeof(*meeting));
}

static void sums_between_devices_take_every_bucket_and_are_joined(void) {
    compare(true);
    CU_ASSERT_EQUAL(meeting->sums[0], 0);
    CU_ASSERT(meeting->started[0] >= STEPS);
    CU_ASSERT_EQUAL(meeting->joins[0], STEPS);
    (void)munmap(meeting, sizeof(*meeting));
}

UNIT_SUITE("cuda.sums", UNIT(ranks_that_share_a_gpu_sum_through_host_memory),
           UNIT(sums_between_devices_take_every_bucket_and_are_joined))
