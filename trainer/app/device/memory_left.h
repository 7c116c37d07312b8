/* How much more memory this process may take: the least of what the machine has, of what the memory
 * limits of its control groups leave (version 1 and 2) and of the process's own limits. What is
 * there for all processes is divided among the ranks of this host.
 *
 * Pages of files count as free, since the kernel drops them where memory is wanted. */
#ifndef TRAINER_APP_DEVICE_MEMORY_LEFT_H
#define TRAINER_APP_DEVICE_MEMORY_LEFT_H

#include <stdint.h>

struct memory_left {
    int64_t bytes;      /* INT64_MAX: nothing here tells of a limit */
    const char *bounds; /* in words, what leaves no more: "this machine" */
};

/* ROOT stands in front of /proc and /sys; "" but in tests. SHARERS, at least 1: processes that take
 * as much as this one. */
struct memory_left memory_left(const char *root, int sharers);

#endif
