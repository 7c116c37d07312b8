/* The GPUs of all ranks, compared before NCCL is: it wants one GPU a rank, and says so in words of
 * its own. */
#ifndef TRAINER_COMM_NCCL_PEERS_H
#define TRAINER_COMM_NCCL_PEERS_H

#include "common/error.h"

/* What a rank says of its GPU. */
struct peer {
    unsigned char uuid[16]; /* of the GPU: its own all over the world */
    char address[16];       /* "0000:0a:00.0" */
    char host[64];
};

/* -1 with EXIT_CODE_DEVICE and both ranks' names where two of the COUNT ranks share a GPU. */
int peers_check(const struct peer *all, int count, struct error *err);

#endif
