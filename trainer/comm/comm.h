/* Communicator between the ranks of a job. One struct comm a process; every rank makes the same
 * calls in the same order, on one thread.
 *
 * All-reduces are started and awaited separately, so that gradients travel while backward
 * continues:
 *
 *     comm_sum_start(comm, slice, count, COMM_F32, &ticket, err);   ... compute ...
 *     comm_wait(comm, ticket, err);
 *
 * Between start and wait the slice belongs to the communicator. Sums are in place, and all ranks
 * get the same bits; two ranks get exactly a + b, unless it travels in half precision. Sizes are in
 * elements of the type for sums, in bytes elsewhere. A call that waits fails with EXIT_CODE_STALLED
 * after COMM_DEADLINE_SECONDS.
 *
 * A rank that fails must not leave the others waiting: it calls comm_abort and ends its process
 * immediately with a code other than 0; the launcher then ends the others. */
#ifndef TRAINER_COMM_COMM_H
#define TRAINER_COMM_COMM_H

#include "common/error.h"
#include "trainer/comm/comm_type.h"

#include <stddef.h>
#include <stdint.h>

enum { COMM_DEADLINE_SECONDS = 900 };

struct comm;

/* Opens a communicator of a single rank; uses no library. */
int comm_self_open(struct comm **ret, struct error *err);

/* Collective. Ranks with the same GROUP, 0 or more, form a communicator in the order of their
 * ranks; with a negative GROUP *RET is NULL. It uses the library of C and is closed before C; each
 * rank makes the calls on all its communicators on one thread. */
int comm_split(struct comm *c, int group, struct comm **ret, struct error *err);

/* Collective. Finalizes and frees. NULL is fine. */
void comm_close(struct comm *c);
/* Leaves without the others and does not free memory that may still be in use; see above. */
void comm_abort(struct comm *c);

/* What connects the ranks: "self", "mpi", "tcp". */
const char *comm_name(const struct comm *c);
int comm_rank(const struct comm *c);
int comm_size(const struct comm *c);
/* Rank among those that the launcher placed on the same host. */
int comm_local_rank(const struct comm *c);
int comm_local_size(const struct comm *c);

int comm_sum_start(struct comm *c, void *values, size_t count, enum comm_type type,
                   uint64_t *ret_ticket, struct error *err);
/* Waits for the sum of this ticket and all started before it. */
int comm_wait(struct comm *c, uint64_t ticket, struct error *err);
/* Starts a sum and waits for it. */
int comm_sum(struct comm *c, void *values, size_t count, enum comm_type type, struct error *err);

/* Starts a sum of f32 of which each rank gets its share: that is then the sum of the values of the
 * first `workers` ranks, added in their order, and the rest of VALUES is as it was. SHARES are the
 * same on all ranks and live until the sum is finished. Wait with comm_wait. */
int comm_share_sum_start(struct comm *c, float *values, const struct comm_shares *shares,
                         uint64_t *ret_ticket, struct error *err);
/* The way back: each of the first `workers` ranks gets the shares of all. */
int comm_share_spread_start(struct comm *c, float *values, const struct comm_shares *shares,
                            uint64_t *ret_ticket, struct error *err);

int comm_broadcast(struct comm *c, void *bytes, size_t size, int root, struct error *err);
/* ALL gets SIZE bytes of each rank, in rank order. */
int comm_gather(struct comm *c, const void *bytes, size_t size, void *all, struct error *err);
int comm_barrier(struct comm *c, struct error *err);

/* Beside the collectives, over TCP alone (another kind of communicator: EXIT_CODE_CONFIG): */

/* Moves PARTS, one a rank: what goes to a rank has to be read there, by its comm_move or from its
 * comm_socket. Waits for the end. A rank with an empty part is left alone. */
int comm_move(struct comm *c, const struct comm_part *parts, struct error *err);
/* Returns the nonblocking connection to RANK, borrowed; -1 if there is none. Use it only where
 * neither end has a collective under way among these two. */
int comm_socket(struct comm *c, int rank);
/* Collective for the ranks with a 0 in GONE: they are those of C from now on, in their order. The
 * others may have ended. C is one that a split made. */
int comm_narrow(struct comm *c, const unsigned char *gone, struct error *err);

/* For a rank that waits for what others do in their own time: how long a call may wait, instead of
 * COMM_DEADLINE_SECONDS. A rank that is gone is still noticed at once. Call while no work is under
 * way. */
void comm_be_patient(struct comm *c, int seconds);

/* Call while no work is under way. DONE NULL: none. Communicators without a thread tell nothing. */
void comm_observe(struct comm *c, struct comm_observer observer);

static inline void cleanup_comm_at(struct comm **c) {
    comm_close(*c);
}
#define cleanup_comm __attribute__((cleanup(cleanup_comm_at)))

#endif
