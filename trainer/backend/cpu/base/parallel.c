#include "trainer/backend/cpu/base/parallel.h"

#include <omp.h>

/* Work is shared by OpenMP's threads, because oneDNN uses the same library: a second pool of
 * threads would compete with the first for cores. OpenMP keeps its threads alive between parallel
 * regions.
 *
 * One thread runs without a region at all, and oneDNN's calls inside a unit of work then run on
 * that thread alone. */

void parallel_set_threads(int threads) {
    omp_set_num_threads(threads);
}

static void count_share(void *context, struct share share) {
    if (share.index == 0)
        *(int *)context = share.count;
}

/* Dynamic adjustment is switched off, so that every later region has as many threads as this
 * one. */
int parallel_team(int threads) {
    int team = 1;
    omp_set_dynamic(0);
    parallel_run(threads, count_share, &team);
    return team;
}

void parallel_run(int threads, parallel_work *work, void *context) {
    if (threads <= 1) {
        work(context, (struct share){.index = 0, .count = 1});
        return;
    }
#pragma omp parallel num_threads(threads)
    work(context, (struct share){.index = omp_get_thread_num(), .count = omp_get_num_threads()});
}

/* Each thread takes new work about this often. */
enum { UNIT_TURNS = 32 };

/* Units are handed out in small groups, as each hand-out is an atomic operation that all threads
 * share. */
void parallel_units(int threads, size_t units, parallel_unit *work, void *context) {
    if (threads <= 1) {
        for (size_t unit = 0; unit < units; unit++)
            work(context, 0, unit);
        return;
    }
    size_t turn = units / ((size_t)threads * UNIT_TURNS) + 1;
#pragma omp parallel for num_threads(threads) schedule(dynamic, turn)
    for (size_t unit = 0; unit < units; unit++)
        work(context, omp_get_thread_num(), unit);
}

/* Shares differ by one grain at most. They depend only on the arguments. */
void share_range(struct share share, size_t total, size_t grain, size_t *ret_begin,
                 size_t *ret_end) {
    size_t grains = (total + grain - 1) / grain;
    size_t index = (size_t)share.index, count = (size_t)share.count;
    size_t begin = grains * index / count * grain;
    size_t end = grains * (index + 1) / count * grain;
    *ret_begin = begin < total ? begin : total;
    *ret_end = end < total ? end : total;
}
