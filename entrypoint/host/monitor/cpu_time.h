/* How much processor time a program has used, with all processes that it has started. */
#ifndef ENTRYPOINT_HOST_MONITOR_CPU_TIME_H
#define ENTRYPOINT_HOST_MONITOR_CPU_TIME_H

#include <stdint.h>
#include <sys/types.h>

/* Of all processes below PARENT, ns, those included that PARENT has reaped. It only grows, but for
 * what ends unseen between two of its children. 0 where PARENT is not there. */
int64_t cpu_time_below(pid_t parent);

#endif
