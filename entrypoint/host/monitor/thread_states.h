/* What the threads of a program wait in, for the story of one that stands still: each process below
 * PARENT with its threads, counted by state, place in the kernel (wchan) and system call.
 *
 *     pid 71 python3: 9 S futex_wait_queue (202), 1 D nfs_wait_bit_killable (0), 1 R; pid 98 ...
 *
 * Files of /proc alone, which no disk holds up. What may not be read is left out. */
#ifndef ENTRYPOINT_HOST_MONITOR_THREAD_STATES_H
#define ENTRYPOINT_HOST_MONITOR_THREAD_STATES_H

#include <stddef.h>
#include <sys/types.h>

/* RET becomes valid UTF-8 on one line, "" where PARENT has no children. */
void thread_states(pid_t parent, char *ret, size_t size);

#endif
