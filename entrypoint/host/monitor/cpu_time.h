/* Processor time of a program and all processes that it has started. */
#ifndef ENTRYPOINT_HOST_MONITOR_CPU_TIME_H
#define ENTRYPOINT_HOST_MONITOR_CPU_TIME_H

#include <stdint.h>
#include <sys/types.h>

/* Returns the processor time of all processes below PARENT in ns, including those that PARENT has
 * reaped. It only grows, except for processes that end unseen between two of its children. 0 if
 * PARENT is not there. */
int64_t cpu_time_below(pid_t parent);

#endif
