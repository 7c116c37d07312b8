/* What the kernel says while an attempt runs that explains failures: GPUs' Xids, errors of the
 * hardware, and of a rank that crashed or lacked memory, what it noted then. Read from /dev/kmsg,
 * which most containers do not have and which takes rights: then there is nothing. It is the log of
 * the whole machine, so that a line may be about a neighbour. */
#ifndef ENTRYPOINT_HOST_MONITOR_KMSG_H
#define ENTRYPOINT_HOST_MONITOR_KMSG_H

#include <stdbool.h>
#include <stddef.h>

enum { KMSG_LINES = 3, KMSG_LINE_SIZE = 161 };

/* What a line is about. */
enum kmsg_kind { KMSG_MACHINE, KMSG_CRASH, KMSG_MEMORY, KMSG_KINDS };

struct kernel_line {
    char text[KMSG_LINE_SIZE];
    enum kmsg_kind kind;
};

struct kmsg {
    int fd; /* a read is one record; -1: not readable */
    /* Since the attempt began, in their order: the first of each kind. */
    struct kernel_line lines[KMSG_KINDS * KMSG_LINES];
    unsigned count;
    unsigned of_kind[KMSG_KINDS];
};

/* From here on. PATH is /dev/kmsg but in tests; what is no such device is not read. */
void kmsg_open(struct kmsg *k, const char *path);
void kmsg_close(struct kmsg *k);

/* From here on again: what was said before is another attempt's. */
void kmsg_forget(struct kmsg *k);

/* Up to three lines of those since it was opened or forgot, '\n' between; "" where there are none.
 * CRASHED and MEMORY say which lines about programs count. The same lines come to whoever asks: of
 * ranks that fail one after the other any may be the one that is judged. Never waits. */
void kmsg_read(struct kmsg *k, bool crashed, bool memory, char *ret, size_t size);

#endif
