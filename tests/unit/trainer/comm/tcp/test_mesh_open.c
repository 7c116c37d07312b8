#include "common/clock.h"
#include "common/net/greeting.h"
#include "common/net/tcp_socket.h"
#include "tests/support/unit.h"
#include "tests/unit/trainer/comm/tcp/rank_threads.h"
#include "trainer/comm/tcp/mesh_open.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct joining {
    struct mesh_plan plan;
    int64_t deadline;
    struct mesh mesh;
    int result;
    struct error err;
};

static void *join_mesh(void *argument) {
    struct joining *j = argument;
    j->result = mesh_open(&j->mesh, &j->plan, j->deadline, &j->err);
    return NULL;
}

static struct joining joining(int rank, int size, uint16_t port, int64_t seconds) {
    return (struct joining){.plan = rank_threads_plan(rank, size, port).mesh,
                            .deadline = clock_now() + seconds * CLOCK_SECOND};
}

static void run(struct joining *all, int count) {
    pthread_t threads[RANK_THREADS_MAX];
    for (int i = 0; i < count; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, join_mesh, &all[i]), 0);
    for (int i = 0; i < count; i++)
        CU_ASSERT_EQUAL(pthread_join(threads[i], NULL), 0);
}

static void close_all(struct joining *all, int count) {
    for (int i = 0; i < count; i++)
        mesh_done(&all[i].mesh);
}

static void every_pair_is_connected(void) {
    enum { RANKS = 6 };
    struct joining all[RANKS];
    const uint16_t port = rank_threads_port();
    for (int i = 0; i < RANKS; i++)
        all[i] = joining(i, RANKS, port, 60);
    run(all, RANKS);
    for (int i = 0; i < RANKS; i++) {
        CU_ASSERT_EQUAL_FATAL(all[i].result, 0);
        for (int k = 0; k < RANKS; k++)
            CU_ASSERT_EQUAL(all[i].mesh.peers[k].fd < 0, i == k);
    }
    /* Both ends of a connection mean the same pair. */
    for (int i = 0; i < RANKS; i++)
        for (int k = 0; k < RANKS; k++)
            if (i != k)
                CU_ASSERT_EQUAL(write(all[i].mesh.peers[k].fd, &(char){(char)(10 * i + k)}, 1), 1);
    for (int i = 0; i < RANKS; i++)
        for (int k = 0; k < RANKS; k++) {
            char byte = 0;
            if (i == k)
                continue;
            CU_ASSERT_EQUAL(tcp_socket_read(all[i].mesh.peers[k].fd, &byte, 1,
                                            clock_now() + 60 * CLOCK_SECOND, NULL),
                            0);
            CU_ASSERT_EQUAL(byte, 10 * k + i);
        }
    close_all(all, RANKS);
}

static void ranks_that_do_not_come_are_named(void) {
    const uint16_t port = rank_threads_port();
    struct joining all[2] = {joining(0, 4, port, 2), joining(2, 4, port, 2)};
    run(all, 2);
    CU_ASSERT(all[0].result != 0 && all[1].result != 0);
    CU_ASSERT_EQUAL(all[0].err.code, EXIT_CODE_NOT_READY);
    ASSERT_CONTAINS(all[0].err.text, "2 of 4 ranks have not connected: 1, 3");
    CU_ASSERT_EQUAL(all[1].err.code, EXIT_CODE_NOT_READY);
    ASSERT_CONTAINS(all[1].err.text, "rank 0 at 127.0.0.1 port");
}

static void a_rank_of_another_job_is_refused(void) {
    const uint16_t port = rank_threads_port();
    struct joining all[3] = {joining(0, 2, port, 60), joining(1, 2, port, 60),
                             joining(1, 3, port, 60)};
    /* Rank 1 comes once the others have been refused. */
    pthread_t first;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&first, NULL, join_mesh, &all[0]), 0);
    struct joining other = joining(1, 2, port, 60);
    (void)snprintf(other.plan.job, sizeof(other.plan.job), "1 test");
    (void)join_mesh(&other);
    CU_ASSERT_EQUAL(other.err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(other.err.text, "it belongs to another job or attempt");
    (void)join_mesh(&all[2]);
    CU_ASSERT_EQUAL(all[2].err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(all[2].err.text, "it expects another number of ranks");
    (void)join_mesh(&all[1]);
    CU_ASSERT_EQUAL(pthread_join(first, NULL), 0);
    CU_ASSERT(all[0].result == 0 && all[1].result == 0);
    close_all(all, 2);
}

/* Connects to rank 0, however early this is. */
static int stranger(uint16_t port) {
    struct net_address here;
    CU_ASSERT_FATAL(net_address_parse("127.0.0.1", &here));
    int64_t deadline = clock_now() + 60 * CLOCK_SECOND;
    int fd = -1;
    while (fd < 0 && clock_now() < deadline)
        fd = tcp_socket_dial(&here, port, deadline, NULL);
    return fd;
}

static void strangers_disturb_nobody(void) {
    enum { STRANGERS = 80 };
    static const char page[] = "GET / HTTP/1.1\r\nHost: localhost:12345\r\nUser-Agent: somebody "
                               "else entirely, and more than a greeting has\r\n\r\n";
    const uint16_t port = rank_threads_port();
    struct joining all[2] = {joining(0, 2, port, 60), joining(1, 2, port, 60)};
    int fds[STRANGERS];
    pthread_t first;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&first, NULL, join_mesh, &all[0]), 0);
    /* Some say nothing, some something else, some half a greeting and the end. */
    for (int i = 0; i < STRANGERS; i++) {
        fds[i] = stranger(port);
        CU_ASSERT_FATAL(fds[i] >= 0);
        if (i % 3 == 1)
            (void)send(fds[i], page, sizeof(page), MSG_NOSIGNAL);
        if (i % 3 == 2) {
            (void)send(fds[i], "RMRANKS", 7, MSG_NOSIGNAL);
            (void)shutdown(fds[i], SHUT_WR);
        }
    }
    (void)join_mesh(&all[1]);
    CU_ASSERT_EQUAL(pthread_join(first, NULL), 0);
    CU_ASSERT(all[0].result == 0 && all[1].result == 0);
    for (int i = 0; i < STRANGERS; i++)
        (void)close(fds[i]);
    close_all(all, 2);
}

static void plans_that_cannot_be_are_refused(void) {
    struct mesh mesh;
    struct error err = {0};
    struct mesh_plan plan = rank_threads_plan(2, 2, 1).mesh;
    CU_ASSERT_NOT_EQUAL(mesh_open(&mesh, &plan, clock_now(), &err), 0);
    ASSERT_CONTAINS(err.text, "rank 2 of 2");
    plan = rank_threads_plan(0, MESH_RANKS_MAX + 1, 1).mesh;
    CU_ASSERT_NOT_EQUAL(mesh_open(&mesh, &plan, clock_now(), &err), 0);
    ASSERT_CONTAINS(err.text, "1 to 512 ranks");
    plan = rank_threads_plan(0, 1, 1).mesh;
    CU_ASSERT_EQUAL(mesh_open(&mesh, &plan, clock_now(), &err), 0);
    mesh_done(&mesh);
}

UNIT_SUITE("comm.tcp.mesh_open", UNIT(every_pair_is_connected),
           UNIT(ranks_that_do_not_come_are_named), UNIT(a_rank_of_another_job_is_refused),
           UNIT(strangers_disturb_nobody), UNIT(plans_that_cannot_be_are_refused))
