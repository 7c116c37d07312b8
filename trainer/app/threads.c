#include "app/threads.h"

#include "app/cpus.h"

#include <omp.h>

int threads_settle(struct threads *ret, const struct options *o, struct comm *comm,
                   struct error *err) {
    struct cpus cpus;
    if (cpus_find(&cpus, comm, err) != 0)
        return -1;
    int compute = cpus_threads(&cpus, comm_size(comm), comm_local_size(comm));
    if (o->threads > 0)
        compute = (int)o->threads;
    *ret = (struct threads){
        .compute = compute,
        .data = o->data_threads > 0 ? (int)o->data_threads : (compute + 1) / 2,
    };
    omp_set_num_threads(compute);
    return 0;
}
