#include "trainer/comm/nccl/peers.h"

#include <string.h>

/* Returns the first rank before RANK with the same GPU, or -1. */
static int duplicate_of(const struct peer *all, int rank) {
    for (int i = 0; i < rank; i++)
        if (memcmp(all[i].uuid, all[rank].uuid, sizeof(all[i].uuid)) == 0)
            return i;
    return -1;
}

int peers_check(const struct peer *all, int count, struct error *err) {
    for (int rank = 1; rank < count; rank++) {
        int duplicate = duplicate_of(all, rank);
        if (duplicate >= 0)
            return error_set(err, EXIT_CODE_DEVICE,
                             "NCCL: ranks %d (%.64s) and %d (%.64s) have the same GPU %.16s; NCCL "
                             "needs one GPU per rank, --comm mpi lets ranks share one",
                             duplicate, all[duplicate].host, rank, all[rank].host,
                             all[rank].address);
    }
    return 0;
}
