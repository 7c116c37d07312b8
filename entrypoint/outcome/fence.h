/* Fence of a lost host: the time from which on nothing of it can run any more, so that another
 * attempt, or another master, may begin.
 *
 * A silent host ends what runs on it by itself, a lease after the last heartbeat; so does a master
 * without answers. A host that is the first process of its container (PID 1) takes its ranks along
 * when it ends, which its peers see at once: the kernel then closes its connections in order,
 * without TLS's farewell. A process that lives never does that (wire/link.h), and a firewall only
 * resets.
 *
 * Pure. All times are clock_boot() of the host that counts, in ns. */
#ifndef ENTRYPOINT_OUTCOME_FENCE_H
#define ENTRYPOINT_OUTCOME_FENCE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    FENCE_ENDING_SECONDS = 4, /* for a host that has noticed to end what runs on it */
    /* The kernel closes the files of PID 1 before it kills the other processes of the container. */
    FENCE_EXIT_SECONDS = 1,
    FENCE_UNANSWERED_BEATS = 2, /* that a host may hear after its last word has arrived */
    FENCE_KILL_SECONDS =
        1, /* for a host without failover to end its ranks: SIGTERM, then SIGKILL */
};

/* Returns the fence of a host that its master lost AT. LEASE is how long a silent host continues.
 * EXITED: PID 1 of its container has ended. */
int64_t fence_of_host(int64_t at, int64_t lease, bool exited);

/* The same in a job without failover, which one master leads from begin to end. SILENT: it was lost
 * for its silence, a lease after its last word. It ends what runs on it a lease after the last
 * heartbeat that it heard, which may be two later than the last that it could answer, BEAT apart:
 * TCP sends nothing after what the other side does not acknowledge. One that loses its link ends
 * its ranks at once. */
int64_t fence_without_failover(int64_t at, int64_t beat, bool silent);

/* What the hosts of a lost master know that have come to the next one. */
struct fence_master {
    int64_t lease;
    int64_t heard;  /* the last heartbeat of the lost master that any of them has answered */
    int64_t opened; /* when the next master began to listen */
    bool complete;  /* they are all hosts of the last view but its master */
    bool exited;    /* each of them has seen that PID 1 of the master's container has ended */
    int64_t ended;  /* and the last one did then */
};

/* Returns the fence of the master and of the hosts that may still follow it. */
int64_t fence_of_master(const struct fence_master *f);

#endif
