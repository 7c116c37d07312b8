/* Whether the kernel has killed processes of this container for lack of memory: what its control
 * group counts, of the second version (memory.events) or the first (memory.oom_control). */
#ifndef ENTRYPOINT_HOST_MONITOR_OOM_KILLS_H
#define ENTRYPOINT_HOST_MONITOR_OOM_KILLS_H

#include <stdint.h>

/* How many there were so far; -1 where no group counts them. ROOT is put in front of
 * /proc/self/cgroup and /sys/fs/cgroup: "" but in tests. */
int64_t oom_kills(const char *root);

#endif
