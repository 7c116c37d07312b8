/* The compute thread pool: OpenMP's (libgomp), which oneDNN uses, too.
 *
 * parallel_run() calls WORK once on each of THREADS threads and returns when all are done. A
 * thread's share is a fixed function of its number, so that sums by share are the same for the
 * same number of threads. */
#ifndef TRAINER_BACKEND_CPU_BASE_PARALLEL_H
#define TRAINER_BACKEND_CPU_BASE_PARALLEL_H

#include <stdbool.h>
#include <stddef.h>

struct share {
    int index, count;
};

typedef void parallel_work(void *context, struct share share);

/* Sets the number of threads for oneDNN's primitives that the calling thread makes or runs: a
 * primitive is cut into parts when it is described, and must run on as many threads. */
void parallel_set_threads(int threads);

/* Returns how many threads really run concurrently if THREADS are requested: fewer if
 * OMP_THREAD_LIMIT is set. */
int parallel_team(int threads);

void parallel_run(int threads, parallel_work *work, void *context);

/* Calls WORK once for each of UNITS pieces of work, which THREADS threads take in order as they
 * become free: a delayed thread gets less. THREAD is less than THREADS. For results that do not
 * depend on the thread that computes them. */
typedef void parallel_unit(void *context, int thread, size_t unit);
void parallel_units(int threads, size_t units, parallel_unit *work, void *context);

/* Computes this share of [0, total), in multiples of GRAIN (at least 1); it may be empty. */
void share_range(struct share share, size_t total, size_t grain, size_t *ret_begin,
                 size_t *ret_end);

/* Walks [begin, end) from its end in blocks of BLOCK: what the previous pass read last is still in
 * the caches. RET_BEGIN and *END are the next block; false at the end. */
static inline bool block_backwards(size_t begin, size_t block, size_t *ret_begin, size_t *end) {
    if (*end <= begin)
        return false;
    *ret_begin = *end - begin > block ? *end - block : begin;
    return true;
}

#endif
