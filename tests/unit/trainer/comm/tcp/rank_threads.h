/* Ranks of a job as threads of this process. They connect through a free port of this machine. */
#ifndef TESTS_UNIT_TRAINER_COMM_TCP_RANK_THREADS_H
#define TESTS_UNIT_TRAINER_COMM_TCP_RANK_THREADS_H

#include "trainer/comm/tcp/comm_tcp.h"

#include <stdbool.h>

enum { RANK_THREADS_MAX = 9 };

struct rank_thread {
    struct comm_tcp_plan plan;
    bool (*play)(struct comm *c, void *context);
    void *context;
    bool ok;
    struct error err; /* set if the rank could not join */
};

/* Returns a port that is free at the moment. */
uint16_t rank_threads_port(void);
struct comm_tcp_plan rank_threads_plan(int rank, int size, uint16_t port);

/* Runs all ranks in parallel, and starts rank 0 last: each joins, calls PLAY, and closes. Returns
 * how many ranks succeeded. */
int rank_threads_run(struct rank_thread *ranks, int count);
/* The same for COUNT ranks that all call PLAY with CONTEXT. */
int rank_threads_all(int count, bool (*play)(struct comm *c, void *context), void *context);

#endif
