/* GPUs of all ranks, compared before NCCL does: it needs one GPU a rank, and its own error is
 * obscure. */
#ifndef TRAINER_COMM_NCCL_PEERS_H
#define TRAINER_COMM_NCCL_PEERS_H

#include "common/error.h"

/* A rank's GPU. */
struct peer {
    unsigned char uuid[16]; /* globally unique id of the GPU */
    char address[16];       /* "0000:0a:00.0" */
    char host[64];
};

/* Fails with EXIT_CODE_DEVICE and both ranks' names if two of the COUNT ranks share a GPU. */
int peers_check(const struct peer *all, int count, struct error *err);

#endif
