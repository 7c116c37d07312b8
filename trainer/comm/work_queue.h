/* Bounded queue of works for the thread that communicates with other ranks. The computing thread
 * posts them, and they are taken in that order. A ticket is the number of works posted so far, so
 * waiting for one means waiting until that many are finished.
 *
 * After a failure no more work is taken, and every post and wait returns that failure. Memory that
 * a posted work points to stays the caller's and must live until the work is finished. */
#ifndef TRAINER_COMM_WORK_QUEUE_H
#define TRAINER_COMM_WORK_QUEUE_H

#include "trainer/comm/comm.h"

#include <pthread.h>
#include <stdbool.h>

struct work {
    enum work_kind kind;
    void *among;       /* the driver's communicator */
    void *data;        /* summed or broadcast in place; result of a gather or split */
    const void *input; /* gather: this rank's bytes */
    size_t count;      /* elements of a sum, else bytes */
    enum comm_type type;
    const struct comm_shares *shares;
    int root; /* of a broadcast; a split's group */
};

enum { WORK_QUEUE_MAX = 128 };

struct work_queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct work ring[WORK_QUEUE_MAX];
    uint64_t posted;
    uint64_t taken;
    uint64_t finished;
    bool closed;
    bool failed;
    bool left; /* the communicating thread is about to end */
    struct error failure;
};

int work_queue_init(struct work_queue *q, struct error *err);
void work_queue_done(struct work_queue *q);

/* DEADLINE limits the wait for space in the queue; see clock.h. */
int work_queue_post(struct work_queue *q, const struct work *work, int64_t deadline,
                    uint64_t *ret_ticket, struct error *err);
int work_queue_wait(struct work_queue *q, uint64_t ticket, int64_t deadline, struct error *err);
/* No more posts are accepted; posted work is still done. */
void work_queue_close(struct work_queue *q);

/* For the communicating thread. Blocks until there is work (true), or the queue is closed and
 * empty, or has failed (false). */
bool work_queue_take(struct work_queue *q, struct work *ret);
/* Marks the work taken last as finished. */
void work_queue_finish(struct work_queue *q);
void work_queue_fail(struct work_queue *q, const struct error *failure);
/* The last call of the communicating thread. */
void work_queue_leave(struct work_queue *q);
/* Waits for that call; returns false if DEADLINE passes first. */
bool work_queue_await_leave(struct work_queue *q, int64_t deadline);

#endif
