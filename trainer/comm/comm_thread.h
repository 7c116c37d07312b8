/* Communicator with its own thread, for drivers over MPI and TCP. The thread carries out works in
 * the order in which they are posted, while the caller computes. Signals are blocked on the thread
 * and on all threads that it starts. */
#ifndef TRAINER_COMM_COMM_THREAD_H
#define TRAINER_COMM_COMM_THREAD_H

#include "trainer/comm/comm_driver.h"
#include "trainer/comm/shares.h"
#include "trainer/comm/work_queue.h"

#include <pthread.h>

/* How long all ranks have to join. */
enum { COMM_OPEN_SECONDS = 300 };

struct comm_thread;

/* What a kind of communicator does on the thread. */
struct comm_thread_works {
    const char *name; /* comm_name */
    size_t size;      /* of the implementation, which begins with a struct comm_thread */
    /* Joins the other ranks and fills rank, size, local_rank and local_size. */
    int (*begin)(struct comm_thread *t, struct error *err);
    /* Carries out a work among the ranks of T. WORK_SPLIT makes the zeroed implementation in
     * `data`; its size stays 0 if this rank is in no group; WORK_RELEASE frees what it has. */
    int (*perform)(struct comm_thread *t, const struct work *work, struct error *err);
    /* As comm_socket; NULL: there is none. The caller's thread. */
    int (*socket)(const struct comm_thread *t, int rank);
    /* After the last work. If a work has FAILED the process is about to end: nothing may wait for
     * other ranks. Not called if begin failed. */
    void (*end)(struct comm_thread *t, bool failed);
};

/* First member of an implementation. */
struct comm_thread {
    struct comm base;          /* must be first: the two are cast into each other */
    struct comm_thread *world; /* has queue and thread; itself unless a split made this one */
    const struct comm_thread_works *works;
    struct work_queue queue;
    pthread_t thread;
};

/* By when a call of T that waits from now on has to end (clock.h). */
int64_t comm_thread_deadline(const struct comm_thread *t);

/* Carries out a work that consists of exchanges of parts alone, by the driver's exchange X. These
 * are a sum in half precision (half_sum.h), a sum in shares and the way back (shares.h). */
int comm_thread_share(const struct shares_exchange *x, const struct work *work, struct error *err);

/* Starts the thread and waits until all ranks are there. T is zeroed memory from malloc, and now
 * belongs to the communicator: comm_close frees it, and so does a failure, unless the thread may
 * still use it. */
int comm_thread_open(struct comm_thread *t, const struct comm_thread_works *works,
                     struct error *err);

#endif
