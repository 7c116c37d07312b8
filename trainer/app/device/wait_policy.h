/* Wait policy of idle compute threads. OpenMP's threads spin before they sleep. That is right
 * while each has a core to itself, and disastrous when anything else needs the core: a step then
 * takes at least four times as long. The library reads the environment before main runs, so
 * changing the policy needs a restart of the program. */
#ifndef TRAINER_APP_DEVICE_WAIT_POLICY_H
#define TRAINER_APP_DEVICE_WAIT_POLICY_H

#include <stdbool.h>

/* Restarts this program with OMP_WAIT_POLICY=passive if the cores are fewer than THREADS of all
 * ranks of this host (0: as many as cores) plus the load of the last minute, and the environment
 * sets no policy. Call it before anything is open. Returns if nothing is to be done or it fails. */
void wait_policy_settle(int threads);

/* Returns the decision; LOAD is the load average of the last minute. */
bool wait_policy_is_crowded(int threads, int ranks, int cores, double load);

#endif
