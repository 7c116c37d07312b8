#include "tests/unit/trainer/comm/tcp/rank_threads.h"

#include "tests/support/ports.h"
#include "tests/support/unit.h"

#include <pthread.h>

uint16_t rank_threads_port(void) {
    static unsigned count;
    CU_ASSERT_FATAL(ports_own() != 0);
    return (uint16_t)(ports_own() + count++ % PORTS_EACH);
}

struct comm_tcp_plan rank_threads_plan(int rank, int size, uint16_t port) {
    return (struct comm_tcp_plan){
        .mesh = {.rank = rank, .size = size, .address = "127.0.0.1", .port = port, .job = "0 test"},
        .local_rank = rank,
        .local_size = size,
    };
}

static void *live(void *argument) {
    struct rank_thread *r = argument;
    struct comm *c = NULL;
    if (comm_tcp_open(&c, &r->plan, &r->err) != 0)
        return NULL;
    r->ok = comm_rank(c) == r->plan.mesh.rank && comm_size(c) == r->plan.mesh.size &&
            r->play(c, r->context);
    comm_close(c);
    return NULL;
}

int rank_threads_run(struct rank_thread *ranks, int count) {
    pthread_t threads[RANK_THREADS_MAX];
    int ok = 0;
    for (int i = count - 1; i >= 0; i--)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, live, &ranks[i]), 0);
    for (int i = 0; i < count; i++) {
        CU_ASSERT_EQUAL(pthread_join(threads[i], NULL), 0);
        ok += ranks[i].ok;
    }
    return ok;
}

int rank_threads_all(int count, bool (*play)(struct comm *c, void *context), void *context) {
    struct rank_thread ranks[RANK_THREADS_MAX] = {0};
    const uint16_t port = rank_threads_port();
    for (int i = 0; i < count; i++)
        ranks[i] = (struct rank_thread){
            .plan = rank_threads_plan(i, count, port), .play = play, .context = context};
    return rank_threads_run(ranks, count);
}
