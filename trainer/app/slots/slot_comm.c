#include "trainer/app/slots/slot_comm.h"

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
