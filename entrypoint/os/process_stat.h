/* Status of one process of this host, from /proc/PID/stat (proc(5)). */
#ifndef ENTRYPOINT_OS_PROCESS_STAT_H
#define ENTRYPOINT_OS_PROCESS_STAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process_stat {
    pid_t pid;
    pid_t parent;
    pid_t group;
    bool dead;               /* a zombie, too */
    int64_t own;             /* processor time: ticks of _SC_CLK_TCK */
    int64_t reaped;          /* of its children that are gone: the same */
    unsigned long long born; /* ticks since boot: with the pid it names a process for good */
};

/* False where there is no such process. */
bool process_stat_read(pid_t pid, struct process_stat *ret);

#endif
