/* Memory that this process can still allocate: the minimum of what the machine has, of the limits
 * of its control groups (version 1 and 2) and of the process's own limits. What all processes
 * share is divided among the ranks of this host.
 *
 * The page cache counts as free, since the kernel drops it when memory is needed. */
#ifndef TRAINER_APP_DEVICE_MEMORY_LEFT_H
#define TRAINER_APP_DEVICE_MEMORY_LEFT_H

#include <stdint.h>

struct memory_left {
    int64_t bytes;      /* INT64_MAX: no limit found */
    const char *bounds; /* the limiting resource, in words: "this machine" */
};

/* ROOT is prepended to /proc and /sys: "" except in tests. SHARERS, at least 1, is the number of
 * processes that take as much as this one. */
struct memory_left memory_left(const char *root, int sharers);

#endif
