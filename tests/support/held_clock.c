#include "tests/support/held_clock.h"

#include <poll.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>

enum {
    CLOCKS = 16,
    NANOSECONDS = 1000 * 1000 * 1000,
    TIMERS = 256,       /* descriptors below that may be timers */
    PATIENCE_MS = 60000 /* for a kernel timer that is due, and for other processes */
};

/* The linker leads calls of the product here, and __real_ ones to the C library. */
int __real_clock_gettime(clockid_t id, struct timespec *ret);
int __real_epoll_wait(int fd, struct epoll_event *events, int most, int timeout_ms);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __real_timerfd_create(int clock, int flags);
int __real_timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *old);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int most, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_timerfd_create(int clock, int flags);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *old);

static bool held;
static bool awaits_others;
static struct timespec stopped[CLOCKS]; /* by clock id */
static int64_t passed;                  /* since then, ns */

/* Timers of the kernel by descriptor: it has them off until their time in PASSED has come. */
static struct {
    clockid_t clock;
    int64_t due; /* 0: off */
} timers[TIMERS];

static int64_t nanoseconds_of(const struct timespec *t) {
    return (int64_t)t->tv_sec * NANOSECONDS + t->tv_nsec;
}

void held_clock_begin(void) {
    for (int id = 0; id < CLOCKS; id++)
        if (__real_clock_gettime((clockid_t)id, &stopped[id]) != 0)
            stopped[id] = (struct timespec){0};
    for (int fd = 0; fd < TIMERS; fd++)
        timers[fd].due = 0;
    passed = 0;
    awaits_others = false;
    held = true;
}

void held_clock_await_others(void) {
    awaits_others = true;
}

/* Returns once the kernel has it expired. A closed one is left alone. */
static void expire(int fd) {
    static const struct itimerspec past = {.it_value = {.tv_nsec = 1}};
    struct pollfd timer = {.fd = fd, .events = POLLIN};
    timers[fd].due = 0;
    if (__real_timerfd_settime(fd, TFD_TIMER_ABSTIME, &past, NULL) == 0)
        (void)__real_poll(&timer, 1, PATIENCE_MS);
}

/* The earliest of those that are on; -1: none is. */
static int first_timer(void) {
    int first = -1;
    for (int fd = 0; fd < TIMERS; fd++)
        if (timers[fd].due != 0 && (first < 0 || timers[fd].due < timers[first].due))
            first = fd;
    return first;
}

static void expire_due(void) {
    for (int fd; (fd = first_timer()) >= 0 && timers[fd].due <= passed;)
        expire(fd);
}

void held_clock_pass(int64_t nanoseconds) {
    passed += nanoseconds;
    expire_due();
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

int __wrap_timerfd_create(int clock, int flags) {
    int fd = __real_timerfd_create(clock, flags);
    if (fd >= 0 && fd < TIMERS) {
        timers[fd].clock = clock;
        timers[fd].due = 0;
    }
    return fd;
}

/* For the product's timers, which are absolute and fire once. */
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *old) {
    static const struct itimerspec off = {0};
    if (!held || fd < 0 || fd >= TIMERS || flags != TFD_TIMER_ABSTIME)
        return __real_timerfd_settime(fd, flags, at, old);
    int result = __real_timerfd_settime(fd, flags, &off, old);
    int64_t deadline = nanoseconds_of(&at->it_value);
    timers[fd].due = 0;
    if (result != 0 || deadline == 0)
        return result;
    timers[fd].due = deadline - nanoseconds_of(&stopped[timers[fd].clock]);
    if (timers[fd].due <= passed)
        expire(fd);
    return 0;
}

/* Lets time pass until a wait of TIMEOUT_MS is over (-1: never is) or the first timer is due. */
static void pass_until(int timeout_ms) {
    int first = first_timer();
    int64_t wait = (int64_t)timeout_ms * 1000 * 1000;
    if (first >= 0 && (timeout_ms < 0 || timers[first].due - passed < wait))
        wait = timers[first].due - passed;
    held_clock_pass(wait);
}

/* How long to wait really where TIMEOUT_MS is asked for. */
static int real_wait(int timeout_ms) {
    if (timeout_ms < 0 && first_timer() < 0)
        return -1;
    return awaits_others && timeout_ms != 0 ? PATIENCE_MS : 0;
}

/* What can be read comes first; then, instead of waiting, the time for that has passed. Only where
 * nothing will ever be due is it a wait for others. */
int __wrap_epoll_wait(int fd, struct epoll_event *events, int most, int timeout_ms) {
    if (!held)
        return __real_epoll_wait(fd, events, most, timeout_ms);
    int count = __real_epoll_wait(fd, events, most, real_wait(timeout_ms));
    if (count != 0)
        return count;
    pass_until(timeout_ms);
    return __real_epoll_wait(fd, events, most, 0);
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms) {
    if (!held)
        return __real_poll(fds, count, timeout_ms);
    int ready = __real_poll(fds, count, real_wait(timeout_ms));
    if (ready != 0)
        return ready;
    pass_until(timeout_ms);
    return __real_poll(fds, count, 0);
}
