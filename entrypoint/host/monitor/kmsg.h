/* Kernel log messages that explain failures: GPU Xids, hardware errors, and, for a rank that
 * crashed or ran out of memory, what the kernel logged then.
 *
 * Read from /dev/kmsg, which most containers do not have and which needs privileges: then there is
 * nothing. It is the log of the whole machine, so a line may be about another container. */
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
    /* The first lines of each kind since the attempt began, in order. */
    struct kernel_line lines[KMSG_KINDS * KMSG_LINES];
    unsigned count;
    unsigned of_kind[KMSG_KINDS];
};

/* Opens it at its current end. PATH is /dev/kmsg except in tests; anything that is no such device
 * is not read. */
void kmsg_open(struct kmsg *k, const char *path);
void kmsg_close(struct kmsg *k);

/* Forgets earlier lines: they belong to another attempt. */
void kmsg_forget(struct kmsg *k);

/* Keeps TEXT as if the kernel had logged it, where it is known from elsewhere. */
void kmsg_take(struct kmsg *k, const char *text);

/* Writes up to three lines since it was opened or forgot, separated by '\n'; "" if there are none.
 * CRASHED and MEMORY say which lines about programs count. Every caller gets the same lines: of
 * ranks that fail one after the other any may be the one that is judged. Never waits. */
void kmsg_read(struct kmsg *k, bool crashed, bool memory, char *ret, size_t size);

#endif
