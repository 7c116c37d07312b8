/* Ranks of a job as threads of this process, which meet at a free port of this machine. */
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
    struct error err; /* of a rank that could not join */
};

/* A port that nobody listens at now. */
uint16_t rank_threads_port(void);
struct comm_tcp_plan rank_threads_plan(int rank, int size, uint16_t port);

/* Runs all ranks side by side, rank 0 last: each joins, plays, and closes. Returns how many did all
 * of that. */
int rank_threads_run(struct rank_thread *ranks, int count);
/* The same for COUNT ranks that all play PLAY with CONTEXT. */
int rank_threads_all(int count, bool (*play)(struct comm *c, void *context), void *context);

#endif
