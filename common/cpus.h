/* Number of CPUs that this process may use.
 *
 * That is limited by its affinity mask and by the quota of its control group, which limits time and
 * not which CPUs. */
#ifndef COMMON_CPUS_H
#define COMMON_CPUS_H

#include <sched.h>
#include <stddef.h>

/* The affinity mask, of *RET_SIZE bytes, which are the same on every machine; CPU 0 alone where the
 * kernel does not tell. The caller's, for CPU_FREE; NULL: no memory. */
cpu_set_t *cpus_mask(size_t *ret_size);

/* CPUs of that mask, at least 1. */
int cpus_affinity(void);

/* Whole CPUs of the control group's quota, at least 1; 0: no quota. ROOT is put in front of /proc
 * and /sys: "" but in tests. */
int cpus_quota(const char *root);

/* The less of both. */
int cpus_usable(const char *root);

/* A quota as version 2's cpu.max tells it ("200000 100000", "max 100000"): rounded up to whole
 * CPUs; 0 for none or text of another form. */
int cpus_parse_quota(const char *cpu_max);

#endif
