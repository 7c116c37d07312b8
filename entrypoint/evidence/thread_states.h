/* Waits of the threads of a program that stands still.
 *
 * The report has each process below PARENT with its threads, counted by state, place in the kernel
 * (wchan) and system call.
 *
 *     pid 71 python3: 9 S futex_wait_queue (202), 1 D nfs_wait_bit_killable (0), 1 R; pid 98 ...
 *
 * Reads only /proc, which does not depend on disks. What cannot be read is left out. */
#ifndef ENTRYPOINT_EVIDENCE_THREAD_STATES_H
#define ENTRYPOINT_EVIDENCE_THREAD_STATES_H

#include <stddef.h>
#include <sys/types.h>

/* RET becomes valid UTF-8 on one line, "" where PARENT has no children. */
void thread_states(pid_t parent, char *ret, size_t size);

/* Likewise for the main thread of the first process alone, for people: "waiting in nanosleep",
 * "running", "stopped by a signal"; "" where there is none. */
void thread_states_main(pid_t parent, char *ret, size_t size);

#endif
