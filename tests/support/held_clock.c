#include "tests/support/held_clock.h"

#include <stdbool.h>
#include <sys/epoll.h>
#include <time.h>

enum { CLOCKS = 16, NANOSECONDS = 1000 * 1000 * 1000 };

/* The linker leads calls of the product here, and __real_ ones to the C library. */
int __real_clock_gettime(clockid_t id, struct timespec *ret);
int __real_epoll_wait(int fd, struct epoll_event *events, int most, int timeout_ms);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int most, int timeout_ms);

static bool held;
static struct timespec stopped[CLOCKS]; /* by clock id */
static int64_t passed;                  /* since then, ns */

void held_clock_begin(void) {
    for (int id = 0; id < CLOCKS; id++)
        if (__real_clock_gettime((clockid_t)id, &stopped[id]) != 0)
            stopped[id] = (struct timespec){0};
    passed = 0;
    held = true;
}

void held_clock_pass(int64_t nanoseconds) {
    passed += nanoseconds;
}

void held_clock_end(void) {
    held = false;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ret) {
    if (!held || id < 0 || id >= CLOCKS)
        return __real_clock_gettime(id, ret);
    int64_t nanoseconds = stopped[id].tv_nsec + passed;
    *ret = (struct timespec){.tv_sec = stopped[id].tv_sec + nanoseconds / NANOSECONDS,
                             .tv_nsec = nanoseconds % NANOSECONDS};
    return 0;
}

/* What can be read comes first; then, instead of waiting, the time for that has passed. */
int __wrap_epoll_wait(int fd, struct epoll_event *events, int most, int timeout_ms) {
    if (!held)
        return __real_epoll_wait(fd, events, most, timeout_ms);
    int count = __real_epoll_wait(fd, events, most, timeout_ms < 0 ? timeout_ms : 0);
    if (count == 0)
        held_clock_pass((int64_t)timeout_ms * 1000 * 1000);
    return count;
}
