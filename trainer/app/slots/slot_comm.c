#include "trainer/app/slots/slot_comm.h"

#include "trainer/app/device/cpus.h"

static int gather(void *context, const void *bytes, size_t size, void *all, struct error *err) {
    return comm_gather(context, bytes, size, all, err);
}

static int broadcast(void *context, void *bytes, size_t size, struct error *err) {
    return comm_broadcast(context, bytes, size, 0, err);
}

struct slot_group slot_comm_group(struct comm *comm) {
    return (struct slot_group){.rank = comm_rank(comm),
                               .size = comm_size(comm),
                               .local_size = comm_local_size(comm),
                               .context = comm,
                               .gather = gather,
                               .broadcast = broadcast};
}

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
