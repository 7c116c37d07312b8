/* How idle compute threads wait. OpenMP's threads spin before they sleep, which is right while each
 * has a core to itself and ruinous when something else wants the core: a step then takes four times
 * as long or more. The library reads the environment before main runs, so the choice takes a new
 * start of the program. */
#ifndef TRAINER_APP_DEVICE_WAIT_POLICY_H
#define TRAINER_APP_DEVICE_WAIT_POLICY_H

#include <stdbool.h>

/* With fewer cores than THREADS of all ranks of this host (0: as many as there are cores) and what
 * else has been running in the last minute, and no policy in the environment: executes this program
 * again with OMP_WAIT_POLICY=passive. Call before anything is open. Returns when there is nothing
 * to do or it cannot be done. */
void wait_policy_settle(int threads);

/* The decision: LOAD is the load average of the last minute. */
bool wait_policy_is_crowded(int threads, int ranks, int cores, double load);

#endif
