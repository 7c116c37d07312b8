/* Loaded into the processes of one host (LD_PRELOAD): its first process has clocks that run ten
 * times as fast, and waits a tenth as long, so that a test sees in seconds what takes minutes. The
 * time of day and all other processes stay as they are. */
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { HASTE = 10 };

static bool is_hasty;

__attribute__((constructor)) static void loaded(void) {
    is_hasty = getpid() == 1; /* and so are its children, as long as they run the same program */
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int code = (int)syscall(SYS_clock_gettime, clock, now);
    if (code != 0 || !is_hasty || (clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME))
        return code;
    int64_t fast = ((int64_t)now->tv_sec * 1000000000 + now->tv_nsec) * HASTE;
    *now = (struct timespec){.tv_sec = fast / 1000000000, .tv_nsec = fast % 1000000000};
    return code;
}

/* Rounded up: a caller that waits for a point of time finds that it has passed. */
static int hasty(int milliseconds) {
    return is_hasty && milliseconds > 0 ? (milliseconds + HASTE - 1) / HASTE : milliseconds;
}

int epoll_wait(int fd, struct epoll_event *events, int count, int milliseconds) {
    return epoll_pwait(fd, events, count, hasty(milliseconds), NULL);
}

int poll(struct pollfd *fds, nfds_t count, int milliseconds) {
    int left = hasty(milliseconds);
    const struct timespec wait = {.tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000L};
    return ppoll(fds, count, left < 0 ? NULL : &wait, NULL);
}
