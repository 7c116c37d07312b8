#include "entrypoint/os/boot_timer.h"

#include "common/clock.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* A timer that was set again meanwhile has nothing to read. */
static void expired(void *context, uint32_t events) {
    struct boot_timer *t = context;
    uint64_t count = 0;
    (void)events;
    if (read(t->watch.fd, &count, sizeof(count)) == (ssize_t)sizeof(count))
        t->fire(t->context);
}

int boot_timer_open(struct boot_timer *t, struct loop *loop, void (*fire)(void *context),
                    void *context, struct error *err) {
    *t = (struct boot_timer){.loop = loop, .fire = fire, .context = context};
    t->watch = (struct watch){.ready = expired, .context = t};
    t->watch.fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (t->watch.fd < 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "a timer");
    if (loop_watch(loop, &t->watch, EPOLLIN, err) == 0)
        return 0;
    boot_timer_close(t);
    return -1;
}

void boot_timer_close(struct boot_timer *t) {
    if (t->watch.fd > 0) {
        loop_unwatch(t->loop, &t->watch);
        (void)close(t->watch.fd);
    }
    *t = (struct boot_timer){0};
}

void boot_timer_set(struct boot_timer *t, int64_t deadline) {
    const struct itimerspec at = {
        .it_value = {.tv_sec = deadline / CLOCK_SECOND, .tv_nsec = deadline % CLOCK_SECOND}};
    if (t->watch.fd > 0) /* cannot fail for a timer */
        (void)timerfd_settime(t->watch.fd, TFD_TIMER_ABSTIME, &at, NULL);
}
