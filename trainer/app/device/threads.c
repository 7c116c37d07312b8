#include "trainer/app/device/threads.h"

#include "trainer/app/device/cpus.h"

#include "common/log/log.h"

#include <omp.h>
#include <stdlib.h>

/* Returns how many of THREADS OpenMP really gives: work cut for more would wait forever for the
 * missing ones. */
static int find_team(int threads) {
    int team = 1;
    omp_set_dynamic(0);
    omp_set_num_threads(threads);
#pragma omp parallel
#pragma omp master
    team = omp_get_num_threads();
    if (team < threads) {
        const char *limit = getenv("OMP_THREAD_LIMIT");
        log_warning("OpenMP gives %d of %d threads (OMP_THREAD_LIMIT is %s): running on %d", team,
                    threads, limit != NULL ? limit : "not set", team);
    }
    return team;
}

int threads_settle(struct threads *ret, const struct options *o, struct comm *comm,
                   struct error *err) {
    struct cpus cpus;
    if (cpus_find(&cpus, comm, err) != 0)
        return -1;
    int compute = cpus_threads(&cpus, comm_size(comm), comm_local_size(comm));
    if (o->threads > 0)
        compute = (int)o->threads;
    compute = find_team(compute);
    omp_set_num_threads(compute);
    *ret = (struct threads){
        .compute = compute,
        .data = o->data_threads > 0 ? (int)o->data_threads : (compute + 1) / 2,
    };
    return 0;
}
