#include "common/system/cpus.h"
#include "tests/support/unit.h"
#include "trainer/app/device/pin.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

static struct locality of(const cpu_set_t *cores) {
    struct locality l = {.size = CPU_ALLOC_SIZE(LOCALITY_CORES), .near = CPU_ALLOC(LOCALITY_CORES)};
    CPU_ZERO_S(l.size, l.near);
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, cores))
            CPU_SET_S(i, l.size, l.near);
    return l;
}

static sem_t begin, end;
static int counted;

static void *count_cores(void *unused) {
    (void)unused;
    (void)sem_wait(&begin);
    counted = cpus_affinity();
    (void)sem_post(&end);
    return NULL;
}

static void every_thread_moves_to_the_near_cores_that_it_has(void) {
    cpu_set_t own, first;
    CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof(own), &own), 0);
    if (CPU_COUNT(&own) < 2) {
        unit_skip("one core: there is nothing to choose");
        return;
    }
    pthread_t thread;
    (void)sem_init(&begin, 0, 0);
    (void)sem_init(&end, 0, 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, count_cores, NULL), 0);
    CPU_ZERO(&first);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&first) == 0; i++)
        if (CPU_ISSET(i, &own))
            CPU_SET(i, &first);
    /* One core that is ours, and one that no machine of this size has. */
    CPU_SET(CPU_SETSIZE - 1, &first);
    struct locality l = of(&first);
    int cores = 0;
    CU_ASSERT_EQUAL(pin_to(&l, &cores, NULL), 0);
    CU_ASSERT_EQUAL(cores, 1);
    CU_ASSERT_EQUAL(cpus_affinity(), 1);
    (void)sem_post(&begin);
    (void)sem_wait(&end);
    (void)pthread_join(thread, NULL);
    CU_ASSERT_EQUAL(counted, 1);
    CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof(own), &own), 0);
    locality_done(&l);
}

static void without_common_cores_the_process_stays_where_it_is(void) {
    cpu_set_t far;
    CPU_ZERO(&far);
    CPU_SET(CPU_SETSIZE - 1, &far);
    struct locality l = of(&far);
    int before = cpus_affinity(), cores = -1;
    CU_ASSERT_EQUAL(pin_to(&l, &cores, NULL), 0);
    CU_ASSERT_EQUAL(cores, 0);
    CU_ASSERT_EQUAL(cpus_affinity(), before);
    locality_done(&l);
}

static void beside_the_device_already_nothing_changes(void) {
    cpu_set_t own;
    CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof(own), &own), 0);
    struct locality l = of(&own);
    int cores = -1;
    CU_ASSERT_EQUAL(pin_to(&l, &cores, NULL), 0);
    CU_ASSERT_EQUAL(cores, 0);
    locality_done(&l);
}

UNIT_SUITE("app.pin", UNIT(every_thread_moves_to_the_near_cores_that_it_has),
           UNIT(without_common_cores_the_process_stays_where_it_is),
           UNIT(beside_the_device_already_nothing_changes))
