/* Wait for the end of a process that is not reaped.
 *
 * The process may be a child of this one. */
#ifndef TESTS_SUPPORT_ENDED_H
#define TESTS_SUPPORT_ENDED_H

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline bool ended_within(pid_t pid, int milliseconds) {
    struct pollfd process = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    if (process.fd < 0)
        return errno == ESRCH;
    bool ended = poll(&process, 1, milliseconds) == 1;
    (void)close(process.fd);
    return ended;
}

#endif
