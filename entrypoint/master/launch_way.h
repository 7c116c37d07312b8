/* A way to start an attempt's ranks: the interface between launch.h and the launchers.
 *
 * Both start the same shims, which register and report alike; how an attempt ends follows from
 * their reports. */
#ifndef ENTRYPOINT_MASTER_LAUNCH_WAY_H
#define ENTRYPOINT_MASTER_LAUNCH_WAY_H

#include "common/error.h"

struct master;

struct launch_way {
    /* Starts the ranks of the attempt on all hosts that are not gone, and logs with what. */
    int (*begin)(struct master *m, struct error *err);
    /* Sends NUMBER to what was started on this host only for the launch; ranks are not meant. */
    void (*signal)(struct master *m, int number);
    /* Frees what the launch has left. It may be called without a begin. */
    void (*close)(struct master *m);
};

extern const struct launch_way launch_mpirun; /* launch_mpirun.h */
extern const struct launch_way launch_direct; /* launch_direct.h */

#endif
