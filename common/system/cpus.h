/* Number of CPUs that this process may use.
 *
 * That is limited by its affinity mask and by the quota of its control group, which limits time and
 * not which CPUs. */
#ifndef COMMON_SYSTEM_CPUS_H
#define COMMON_SYSTEM_CPUS_H

#include <sched.h>
#include <stddef.h>

/* The affinity mask in *RET_SIZE bytes, which are the same on every machine. It holds CPU 0 alone
 * if the kernel does not report one. The caller frees it with CPU_FREE. NULL: out of memory. */
cpu_set_t *cpus_mask(size_t *ret_size);

/* The number of CPUs in that mask, at least 1. */
int cpus_affinity(void);

/* The control group's CPU quota in whole CPUs, at least 1; 0: no quota. ROOT is a prefix of /proc
 * and /sys: "" except in tests. */
int cpus_quota(const char *root);

/* The smaller of the two. */
int cpus_usable(const char *root);

/* Parses the quota of version 2's cpu.max ("200000 100000", "max 100000"), rounded up to whole
 * CPUs. Returns 0 if there is no quota or the text has another form. */
int cpus_parse_quota(const char *cpu_max);

#endif
