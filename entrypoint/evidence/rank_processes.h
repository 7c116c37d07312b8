/* Processes of a rank: those below its shim, at most four levels down (a shell, a wrapper, the
 * program, its workers). Read from /proc, which does not depend on disks. */
#ifndef ENTRYPOINT_EVIDENCE_RANK_PROCESSES_H
#define ENTRYPOINT_EVIDENCE_RANK_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { RANK_PROCESSES_MAX = 8, RANK_PROCESSES_NAME_SIZE = 64 };

/* Writes at most RANK_PROCESSES_MAX processes below PARENT, in the order of /proc; returns their
 * number. */
size_t rank_processes(pid_t parent, pid_t ret[RANK_PROCESSES_MAX]);

/* Reads the first bytes of PATH, a file in /proc, as a string; returns their number. */
size_t rank_processes_read(const char *path, char *ret, size_t size);

/* Returns true if PID has a handler for signal NUMBER, so that the signal does not end it. */
bool rank_processes_catches(pid_t pid, int number);

/* Returns the state of PID as ps prints it: R, S, D, T ...; '?' if there is no such process. */
char rank_processes_state(pid_t pid);

#endif
