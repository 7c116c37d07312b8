#include "trainer/app/slots/slot_threads.h"

#include "trainer/app/device/cpus.h"

int slot_cores(const struct slots *s, struct comm *comm, struct cpus *ret, struct error *err) {
    if (cpus_find(ret, comm, err) != 0)
        return -1;
    if (s->own_count > 1)
        ret->sharers = s->own_count;
    return 0;
}

int slot_threads(const struct slots *s, struct comm *comm, struct error *err) {
    struct cpus cpus;
    if (slot_cores(s, comm, &cpus, err) != 0)
        return -1;
    return cpus_threads(&cpus, s->count, s->own_count > 1 ? s->own_count : comm_local_size(comm));
}
