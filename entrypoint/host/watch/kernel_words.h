/* What the kernel says while an attempt runs that explains failures: GPUs' Xids, errors of the
 * hardware, and of a rank that crashed or lacked memory, what it noted then. Read from /dev/kmsg,
 * which most containers do not have and which takes rights: then there is nothing. It is the log of
 * the whole machine, so that a line may be about a neighbour. */
#ifndef WATCH_KERNEL_WORDS_H
#define WATCH_KERNEL_WORDS_H

#include <stdbool.h>
#include <stddef.h>

struct kernel_words {
    int fd; /* a read is one record; -1: not readable */
};

/* From here on. PATH is /dev/kmsg but in tests; what is no such device is not read. */
void kernel_words_open(struct kernel_words *k, const char *path);
void kernel_words_close(struct kernel_words *k);

/* Up to three lines of those since it was opened or last asked, '\n' between; "" where there are
 * none. CRASHED and MEMORY say which lines about programs count. Never waits. */
void kernel_words_read(const struct kernel_words *k, bool crashed, bool memory, char *ret,
                       size_t size);

#endif
