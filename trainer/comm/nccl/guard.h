/* One NCCL communicator and the thread that watches over it. NCCL tells of an error only when it is
 * asked, and its calls may only begin what they are called for: so every call is followed by
 * guard_settle, which asks until it is through, and in between the thread asks five times a second.
 * An error, or an announced wait that passes its deadline, aborts the communicator: its kernels
 * leave the device, and no queue stays blocked. That holds for kernels that look at the abort flag;
 * NCCL's symmetric ones do not, and are not used. */
#ifndef TRAINER_COMM_NCCL_GUARD_H
#define TRAINER_COMM_NCCL_GUARD_H

#include "common/error.h"

#include <nccl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct guard {
    pthread_mutex_t lock; /* over what follows */
    pthread_cond_t changed;
    ncclComm_t comm;  /* NULL before it is opened, and once it is aborted or destroyed */
    int64_t deadline; /* of the wait that was announced; 0: none */
    bool failed;
    struct error failure;
    bool leaving;
    pthread_t thread;
    bool running;
};

/* Starts the thread; there is no communicator yet. */
int guard_init(struct guard *g, struct error *err);
/* Begins joining SIZE ranks and waits until DEADLINE for all of them. */
int guard_open(struct guard *g, const ncclUniqueId *id, int size, int rank, int64_t deadline,
               struct error *err);

/* Hold this around every NCCL call on g->comm; NULL there: the guard has failed. */
void guard_lock(struct guard *g);
void guard_unlock(struct guard *g);
/* After a call that returned RESULT, without the lock: 0 when what it began is through. WHAT names
 * it in errors. */
int guard_settle(struct guard *g, ncclResult_t result, const char *what, int64_t deadline,
                 struct error *err);

/* The host waits for the device until DEADLINE; 0 ends that. */
void guard_expect(struct guard *g, int64_t deadline);
/* -1 with what went wrong so far. */
int guard_check(struct guard *g, struct error *err);

/* Leaves together with the other ranks. */
int guard_finish(struct guard *g, int64_t deadline, struct error *err);
/* Aborts what has not finished. -1: it did not come back until DEADLINE, and the memory of G must
 * stay. Safe on a zeroed guard. */
int guard_close(struct guard *g, int64_t deadline);

/* Fills ERR from RESULT and NCCL's last words; returns -1. */
int guard_error(ncclResult_t result, const char *what, struct error *err);

#endif
