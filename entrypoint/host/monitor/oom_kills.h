/* OOM kill counter of this container: what its control group counts, of version 2 (memory.events)
 * or 1 (memory.oom_control). */
#ifndef ENTRYPOINT_HOST_MONITOR_OOM_KILLS_H
#define ENTRYPOINT_HOST_MONITOR_OOM_KILLS_H

#include <stdint.h>

/* Returns the number of OOM kills so far; -1 if no group counts them. ROOT is put before
 * /proc/self/cgroup and /sys/fs/cgroup: "" except in tests. */
int64_t oom_kills(const char *root);

#endif
