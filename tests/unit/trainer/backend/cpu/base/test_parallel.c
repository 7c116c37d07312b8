#include "tests/support/unit.h"
#include "trainer/backend/cpu/base/parallel.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* How work is divided: ranges for each thread, units for whichever thread is free, and blocks from
 * the end on. THREADS may be more than there are processors. */

enum { THREADS = 3, TOTAL = 100 };

static int touched[TOTAL];

/* Called without threads, so the counters need no lock. */
static void touch(void *context, struct share share) {
    size_t begin, end, grain = *(size_t *)context;
    share_range(share, TOTAL, grain, &begin, &end);
    CU_ASSERT(begin % grain == 0 || begin == TOTAL);
    for (size_t i = begin; i < end; i++)
        touched[i]++;
}

static void shares_cover_everything_once(void) {
    static const size_t grains[] = {1, 7, 64, 1000};
    for (size_t g = 0; g < sizeof(grains) / sizeof(grains[0]); g++) {
        for (size_t i = 0; i < TOTAL; i++)
            touched[i] = 0;
        size_t grain = grains[g];
        for (int index = 0; index < THREADS; index++)
            touch(&grain, (struct share){.index = index, .count = THREADS});
        for (size_t i = 0; i < TOTAL; i++)
            CU_ASSERT_EQUAL(touched[i], 1);
    }
}

/* Shares are counted in grains, and no grain is divided between two shares. */
static void shares_differ_by_a_grain_at_most(void) {
    for (size_t total = 0; total <= 40; total++)
        for (int count = 1; count <= 5; count++) {
            size_t least = total, most = 0, last = 0;
            for (int index = 0; index < count; index++) {
                size_t begin, end;
                share_range((struct share){index, count}, total, 3, &begin, &end);
                size_t grains = (end - begin + 2) / 3;
                CU_ASSERT_EQUAL(begin, last);
                last = end;
                least = grains < least ? grains : least;
                most = grains > most ? grains : most;
            }
            CU_ASSERT_EQUAL(last, total);
            CU_ASSERT(most - least <= 1);
        }
}

/* OMP_THREAD_LIMIT may make a team smaller. */
static void the_team_is_counted_and_onednn_set(void) {
    if (getenv("OMP_THREAD_LIMIT") == NULL)
        CU_ASSERT_EQUAL(parallel_team(THREADS), THREADS);
    CU_ASSERT_EQUAL(parallel_team(1), 1);
    CU_ASSERT_EQUAL(omp_get_dynamic(), 0);
    parallel_set_threads(2);
    CU_ASSERT_EQUAL(omp_get_max_threads(), 2);
    parallel_set_threads(THREADS);
    CU_ASSERT_EQUAL(omp_get_max_threads(), THREADS);
}

static int seen[THREADS];

static void mark(void *context, struct share share) {
    (void)context;
    CU_ASSERT_EQUAL(share.count, THREADS);
    seen[share.index]++;
}

static void work_runs_once_on_each_thread(void) {
    parallel_run(THREADS, mark, NULL);
    for (int i = 0; i < THREADS; i++)
        CU_ASSERT_EQUAL(seen[i], 1);
}

enum { MANY_UNITS = 1000 };

static int made[MANY_UNITS];

static void make_unit(void *context, int thread, size_t unit) {
    (void)context;
    CU_ASSERT(thread >= 0 && thread < THREADS);
    made[unit]++;
}

/* None, one, and numbers that threads do not divide. */
static void units_are_made_once_each(void) {
    for (int threads = 1; threads <= THREADS; threads += THREADS - 1)
        for (size_t units = 0; units <= MANY_UNITS; units = units * 7 + 1) {
            memset(made, 0, sizeof made);
            parallel_units(threads, units, make_unit, NULL);
            for (size_t i = 0; i < MANY_UNITS; i++)
                CU_ASSERT_EQUAL(made[i], i < units ? 1 : 0);
        }
}

/* The last block taken, at the beginning, is shorter than the others. */
static void blocks_go_from_the_end_to_the_begin(void) {
    size_t begin = 3, end = 20, block = 0, covered = 0, last = 20;
    for (; block_backwards(begin, 8, &block, &end); end = block) {
        CU_ASSERT_EQUAL(end, last);
        CU_ASSERT(end - block <= 8);
        covered += end - block;
        last = block;
    }
    CU_ASSERT_EQUAL(covered, 17);
    CU_ASSERT_EQUAL(last, 3);
}

UNIT_SUITE("cpu.parallel", UNIT(shares_cover_everything_once), UNIT(work_runs_once_on_each_thread),
           UNIT(shares_differ_by_a_grain_at_most), UNIT(the_team_is_counted_and_onednn_set),
           UNIT(units_are_made_once_each), UNIT(blocks_go_from_the_end_to_the_begin))
