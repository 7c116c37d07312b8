/* Optimizer divided over ranks: each owns a share of every gradient bucket, gets the sum of its
 * gradients, keeps the optimizer's state of its parameters alone, updates them, and sends them to
 * all (Rajbhandari et al., "ZeRO: memory optimizations toward training trillion parameter models",
 * 2020, stage 1). The owners are either all ranks or, as parameter servers, those after the
 * workers.
 *
 * Gradients are added in the order of the ranks, and each element is updated as by one rank alone.
 * So the weights have the bits that an all-reduce in that order gives. Sums of squares, for
 * clipping and for optimizers that need norms of tensors, are added owner by owner: equal but for
 * the last bits of f64.
 *
 * Values are arenas of f32 with the same offsets in each. */
#ifndef TRAINER_SHARD_SHARDS_H
#define TRAINER_SHARD_SHARDS_H

#include "common/error.h"
#include "trainer/comm/comm.h"
#include "trainer/optim/optimizer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Elements of which a share is a multiple, but for a bucket's last. */
enum { SHARDS_UNIT = 16 };

/* A trained parameter. */
struct shard_tensor {
    size_t first, count;
    int32_t group; /* of the optimizer's rule */
};

/* What is divided. */
struct shard_layout {
    const size_t *buckets; /* borrowed; [bucket_count + 1], where each begins, then the end */
    int32_t bucket_count;
    const struct shard_tensor
        *tensors; /* borrowed; ascending, the elements between them are zero */
    int32_t tensor_count;
};

struct shards {
    struct comm *comm; /* borrowed */
    int workers;       /* the first ranks, which compute gradients and need all weights */
    bool serves;       /* the owners are the other ranks; else the workers themselves */
    int32_t bucket_count, tensor_count;
    size_t *bounds;               /* owned; of the shares: [bucket_count][ranks + 1] */
    struct comm_shares *buckets;  /* owned */
    struct shard_tensor *tensors; /* owned */
    double *norms;                /* owned; two a tensor: squares of weights and gradients */
};

/* What all ranks know of a step once its sums have come. */
struct shard_verdict {
    double bad;     /* owners that found a gradient which is not finite */
    double squares; /* of all gradients, if they are asked for */
    /* As rank 0 has it: */
    double hold; /* the step changes nothing, whatever owners find */
    double rate, momentum;
    double update; /* its number, from 1 */
};

/* COMM is borrowed. WORKERS is its size, or less where the ranks after them own all. */
int shards_open(struct shards *s, struct comm *comm, int workers, const struct shard_layout *layout,
                struct error *err);
void shards_done(struct shards *s);

/* Starts the sum of BUCKET's gradients. Wait with comm_wait. */
int shards_sum_start(struct shards *s, int bucket, float *gradients, uint64_t *ret_ticket,
                     struct error *err);
/* Puts into V what this rank finds in its own GRADIENTS, once their sums are there. */
void shards_look(const struct shards *s, const float *gradients, bool squares,
                 struct shard_verdict *v);
/* Collective. Sums what the owners have found; the other members of V become rank 0's. */
int shards_judge(struct shards *s, struct shard_verdict *v, struct error *err);
/* Updates this rank's own parameters by RULE, with V's rate and momentum; call shards_spread
 * afterwards. Collective where the optimizer needs norms of tensors. */
int shards_update(struct shards *s, const struct optimizer_rule *rule,
                  const struct shard_verdict *v, const struct optimizer_arenas *arenas,
                  struct error *err);
/* Collective. The first READERS ranks get all of VALUES. */
int shards_spread(struct shards *s, float *values, int readers, struct error *err);
/* Collective. Each owner gets its share of rank 0's VALUES. */
int shards_deal(struct shards *s, float *values, struct error *err);
/* Returns the memory of VALUES that other ranks own to the system, in whole pages: those values
 * are zero afterwards, or unchanged. */
void shards_forget(const struct shards *s, float *values);

#endif
