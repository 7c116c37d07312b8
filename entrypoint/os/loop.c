#include "os/loop.h"

#include "common/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

static void close_watch(struct loop *l, struct watch *w) {
    loop_unwatch(l, w);
    if (w->fd > 0)
        (void)close(w->fd);
    w->fd = -1;
}

static void fire_due(void *context, uint32_t events) {
    (void)events;
    struct loop *l = context;
    uint64_t count = 0;
    (void)!read(l->alarm.fd, &count, sizeof(count));
    l->armed = 0;
    int64_t now = clock_now();
    /* Those set by callbacks wait for the next round, so that a timer of no delay starves nobody.
     */
    while (!l->ended && l->timers != NULL && l->timers->deadline <= now) {
        struct timer *t = l->timers;
        l->timers = t->next;
        t->active = false;
        t->fire(t->context);
    }
}

static void read_signals(void *context, uint32_t events) {
    (void)events;
    struct loop *l = context;
    struct signalfd_siginfo info;
    while (!l->ended && read(l->signals.fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        l->on_signal(l->signal_context, (int)info.ssi_signo);
}

int loop_init(struct loop *l, struct error *err) {
    *l = (struct loop){.alarm = {.fd = -1}, .signals = {.fd = -1}};
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (l->epoll_fd < 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "epoll");
    l->alarm = (struct watch){.ready = fire_due, .context = l};
    l->alarm.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (l->alarm.fd < 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "timerfd");
    return loop_watch(l, &l->alarm, EPOLLIN, err);
}

void loop_done(struct loop *l) {
    if (l->epoll_fd <= 0)
        return;
    while (l->timers != NULL)
        loop_cancel(l, l->timers);
    close_watch(l, &l->signals);
    close_watch(l, &l->alarm);
    (void)close(l->epoll_fd);
    l->epoll_fd = -1;
}

int loop_signals(struct loop *l, const sigset_t *set, void (*on_signal)(void *context, int number),
                 void *context, struct error *err) {
    l->on_signal = on_signal;
    l->signal_context = context;
    l->signals = (struct watch){.ready = read_signals, .context = l};
    if (sigprocmask(SIG_BLOCK, set, NULL) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "blocking signals");
    l->signals.fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (l->signals.fd < 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "signalfd");
    return loop_watch(l, &l->signals, EPOLLIN, err);
}

int loop_watch(struct loop *l, struct watch *w, uint32_t events, struct error *err) {
    struct epoll_event event = {.events = events, .data = {.ptr = w}};
    int op = w->active ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (epoll_ctl(l->epoll_fd, op, w->fd, &event) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "watching descriptor %d", w->fd);
    w->active = true;
    return 0;
}

void loop_unwatch(struct loop *l, struct watch *w) {
    if (w->active)
        (void)epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
    w->active = false;
}

void loop_at(struct loop *l, struct timer *t, int64_t deadline) {
    loop_cancel(l, t);
    struct timer **slot = &l->timers;
    while (*slot != NULL && (*slot)->deadline <= deadline)
        slot = &(*slot)->next;
    t->deadline = deadline;
    t->next = *slot;
    t->active = true;
    *slot = t;
}

void loop_after(struct loop *l, struct timer *t, int64_t nanoseconds) {
    loop_at(l, t, clock_now() + nanoseconds);
}

void loop_cancel(struct loop *l, struct timer *t) {
    if (!t->active)
        return;
    struct timer **slot = &l->timers;
    while (*slot != t)
        slot = &(*slot)->next;
    *slot = t->next;
    t->active = false;
}

/* A timer that was taken out leaves its alarm set: one early wake-up is cheaper than a system call
 * for each deadline that moves. */
static int arm(struct loop *l, struct error *err) {
    if (l->timers == NULL || (l->armed != 0 && l->armed <= l->timers->deadline))
        return 0;
    int64_t at = l->timers->deadline > 0 ? l->timers->deadline : 1;
    struct itimerspec spec = {
        .it_value = {.tv_sec = at / CLOCK_SECOND, .tv_nsec = at % CLOCK_SECOND}};
    if (timerfd_settime(l->alarm.fd, TFD_TIMER_ABSTIME, &spec, NULL) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "setting the alarm");
    l->armed = at;
    return 0;
}

int loop_run(struct loop *l, struct error *err) {
    l->ended = false;
    while (!l->ended) {
        if (arm(l, err) != 0)
            return -1;
        struct epoll_event event;
        int count = epoll_wait(l->epoll_fd, &event, 1, -1);
        if (count < 0 && errno != EINTR)
            return error_set_errno(err, EXIT_CODE_INTERNAL, "waiting for events");
        if (count == 1) {
            struct watch *w = event.data.ptr;
            w->ready(w->context, event.events);
        }
    }
    return 0;
}

void loop_end(struct loop *l) {
    l->ended = true;
}
