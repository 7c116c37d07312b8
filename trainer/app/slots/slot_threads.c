#include "trainer/app/slots/slot_threads.h"

#include "trainer/app/device/cpus.h"

int slot_threads(const struct slots *s, struct comm *comm, struct error *err) {
    struct cpus cpus;
    int local = comm_local_size(comm);
    if (cpus_find(&cpus, comm, err) != 0)
        return -1;
    if (s->own_count > 1)
        cpus.sharers = local = s->own_count;
    return cpus_threads(&cpus, s->count, local);
}
