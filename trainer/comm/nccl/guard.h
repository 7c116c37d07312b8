/* NCCL communicator with a thread that watches it.
 *
 * NCCL reports an error only when asked, and its calls may return before they are complete. So each
 * call is followed by guard_settle, which polls until it is, and in between the thread polls five
 * times a second. An error, or an announced wait that passes its deadline, aborts the communicator:
 * its kernels leave the device, and no queue stays blocked. That holds for kernels that check the
 * abort flag; NCCL's symmetric ones do not, and are not used. */
#ifndef TRAINER_COMM_NCCL_GUARD_H
#define TRAINER_COMM_NCCL_GUARD_H

#include "common/error.h"

#include <nccl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct guard {
    pthread_mutex_t lock; /* protects all below */
    pthread_cond_t changed;
    ncclComm_t comm;  /* NULL before it is opened, and once it is aborted or destroyed */
    int64_t deadline; /* of the announced wait; 0: none */
    bool failed;
    struct error failure;
    bool leaving;
    pthread_t thread;
    bool running;
};

/* Starts the thread, without a communicator. */
int guard_init(struct guard *g, struct error *err);
/* Starts joining SIZE ranks and waits until DEADLINE for all of them. */
int guard_open(struct guard *g, const ncclUniqueId *id, int size, int rank, int64_t deadline,
               struct error *err);

/* Hold this around all NCCL calls on g->comm. If that is NULL the guard has failed. */
void guard_lock(struct guard *g);
void guard_unlock(struct guard *g);
/* Call without the lock after a call that returned RESULT. Returns 0 when the call is complete.
 * WHAT names it in errors. */
int guard_settle(struct guard *g, ncclResult_t result, const char *what, int64_t deadline,
                 struct error *err);

/* Announces that the host waits for the device until DEADLINE; 0 ends that. */
void guard_expect(struct guard *g, int64_t deadline);
/* Returns -1 with the first error so far. */
int guard_check(struct guard *g, struct error *err);

/* Leaves together with the other ranks. */
int guard_finish(struct guard *g, int64_t deadline, struct error *err);
/* Aborts a communicator that has not finished. Returns -1 if that took longer than DEADLINE; the
 * memory of G must then stay. Safe on a zeroed guard. */
int guard_close(struct guard *g, int64_t deadline);

/* Fills ERR from RESULT and NCCL's last error text; returns -1. */
int guard_error(ncclResult_t result, const char *what, struct error *err);

#endif
