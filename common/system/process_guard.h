/* Protection of a process against other processes of its user. */
#ifndef COMMON_SYSTEM_PROCESS_GUARD_H
#define COMMON_SYSTEM_PROCESS_GUARD_H

#include <sys/prctl.h>

/* Forbids ptrace, access to memory through /proc, and core files: this process holds the key of the
 * job, or reports how a program of the user ended. Children that exec another program are not
 * covered. */
static inline void process_guard_forbid_inspection(void) {
    (void)prctl(PR_SET_DUMPABLE, 0);
}

#endif
