#include "entrypoint/os/loop.h"

#include "common/clock.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* One turn takes one event, calls its watch, and then fires the timers that are due. Only one event
 * is taken at a time because its callback may remove or free any other watch. A second event of the
 * same call could then lead to freed memory.
 *
 * Timers are two sorted lists. A process has few of them, so walking a list is cheap. A timer with
 * slack is in the second list, and fires early if the loop is awake anyway.
 *
 * After a pause of the whole process, such as that of a container, input and deadlines have both
 * come. Input is read first then (catches_up), because what a peer has sent in time is in time. */

/* A zeroed watch has descriptor 0, which is not closed. */
static void close_watch(struct loop *l, struct watch *w) {
    loop_unwatch(l, w);
    if (w->fd > 0)
        (void)close(w->fd);
    w->fd = -1;
}

/* A timer that may fire at NOW. Timers with slack are looked at one by one: the first of them need
 * not be the one that may fire. */
static struct timer *find_due(const struct loop *l, int64_t now) {
    if (l->timers != NULL && l->timers->deadline <= now)
        return l->timers;
    for (struct timer *t = l->loose; t != NULL; t = t->next)
        if (t->deadline - t->slack <= now)
            return t;
    return NULL;
}

/* Fires the timers that are due. Timers set by their callbacks wait for the next round, so that a
 * timer without delay cannot starve the others. */
static void fire_due(struct loop *l) {
    const int64_t now = clock_now();
    for (struct timer *t; !l->ended && (t = find_due(l, now)) != NULL;) {
        loop_cancel(l, t);
        t->fire(t->context);
    }
}

/* How long input may delay a timer that is due. Without a limit, a peer that sends without end
 * would delay it for ever. */
static const int64_t catching_up_most = CLOCK_SECOND / 5;

/* Returns true to read more input before timers fire, because a deadline does not apply to data
 * that has already arrived. *BEHIND is when that began, 0: it has not. */
static bool catches_up(const struct loop *l, bool more, int64_t *behind) {
    const int64_t now = clock_now();
    if (!more || find_due(l, now) == NULL) {
        *behind = 0;
        return false;
    }
    *behind = *behind != 0 ? *behind : now;
    return now - *behind < catching_up_most;
}

/* One signalfd has all signals of the set. A callback may end the loop; signals that are left are
 * then not read. */
static void read_signals(void *context, uint32_t events) {
    (void)events;
    struct loop *l = context;
    struct signalfd_siginfo info;
    while (!l->ended && read(l->signals.fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        l->on_signal(l->signal_context, (int)info.ssi_signo);
}

int loop_init(struct loop *l, struct error *err) {
    *l = (struct loop){.signals = {.fd = -1}};
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return l->epoll_fd >= 0 ? 0 : error_set_errno(err, EXIT_CODE_INTERNAL, "epoll");
}

/* Timers are taken out, so that their owners may cancel them later. Watches stay with their owners.
 */
void loop_done(struct loop *l) {
    if (l->epoll_fd <= 0)
        return;
    while (l->timers != NULL)
        loop_cancel(l, l->timers);
    while (l->loose != NULL)
        loop_cancel(l, l->loose);
    close_watch(l, &l->signals);
    (void)close(l->epoll_fd);
    l->epoll_fd = -1;
}

/* The signals stay blocked after loop_done(): one that comes then waits, and does not end the
 * process. */
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

/* Fails with EPERM for plain files, which epoll cannot watch. */
int loop_watch(struct loop *l, struct watch *w, uint32_t events, struct error *err) {
    struct epoll_event event = {.events = events, .data = {.ptr = w}};
    int op = w->active ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (epoll_ctl(l->epoll_fd, op, w->fd, &event) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "watching descriptor %d", w->fd);
    w->active = true;
    return 0;
}

/* Call it before the descriptor is closed. */
void loop_unwatch(struct loop *l, struct watch *w) {
    if (w->active)
        (void)epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
    w->active = false;
}

/* The list of T, whether or not T is in it. */
static struct timer **list_of(struct loop *l, const struct timer *t) {
    return t->slack > 0 ? &l->loose : &l->timers;
}

/* Timers with equal deadlines fire in the order in which they were set. */
static void insert(struct loop *l, struct timer *t, int64_t deadline, int64_t slack) {
    loop_cancel(l, t);
    t->deadline = deadline;
    t->slack = slack;
    struct timer **slot = list_of(l, t);
    while (*slot != NULL && (*slot)->deadline <= deadline)
        slot = &(*slot)->next;
    t->next = *slot;
    t->active = true;
    *slot = t;
}

void loop_at(struct loop *l, struct timer *t, int64_t deadline) {
    insert(l, t, deadline, 0);
}

/* SLACK is half of the time: it fires between half and all of it. */
void loop_within(struct loop *l, struct timer *t, int64_t nanoseconds) {
    insert(l, t, clock_now() + nanoseconds, nanoseconds / 2);
}

void loop_after(struct loop *l, struct timer *t, int64_t nanoseconds) {
    loop_at(l, t, clock_now() + nanoseconds);
}

/* Also within the timer's own callback, when it is no longer set. */
void loop_cancel(struct loop *l, struct timer *t) {
    if (!t->active)
        return;
    struct timer **slot = list_of(l, t);
    while (*slot != t)
        slot = &(*slot)->next;
    *slot = t->next;
    t->active = false;
}

/* Milliseconds until the first deadline, rounded up so that it has then passed; -1: no timer. */
static int patience(const struct loop *l) {
    const struct timer *first = l->timers;
    if (first == NULL || (l->loose != NULL && l->loose->deadline < first->deadline))
        first = l->loose;
    if (first == NULL)
        return -1;
    int64_t left = first->deadline - clock_now();
    if (left <= 0)
        return 0;
    int64_t ms = (left + CLOCK_MILLISECOND - 1) / CLOCK_MILLISECOND;
    return ms < INT_MAX ? (int)ms : INT_MAX;
}

/* The shorter of two times to wait, ms; -1: for ever. */
static int sooner(int one, int other) {
    return one >= 0 && one < other ? one : other;
}

/* epoll_wait() for one event; returns none while the loop rests. While it rests, only the
 * descriptor of signals is polled, and a signal ends the rest. */
static int await(struct loop *l, struct epoll_event *event) {
    int rest = l->rest != 0 ? clock_left_ms(l->rest) : 0;
    if (rest == 0) {
        l->rest = 0;
        return epoll_wait(l->epoll_fd, event, 1, patience(l));
    }
    struct pollfd signals = {.fd = l->signals.fd, .events = POLLIN};
    int count = poll(&signals, 1, sooner(patience(l), rest));
    if (count > 0) {
        l->rest = 0;
        *event = (struct epoll_event){.events = EPOLLIN, .data = {.ptr = &l->signals}};
    }
    return count;
}

/* EINTR is no event: signals come by their descriptor. */
int loop_run(struct loop *l, struct error *err) {
    int64_t behind = 0;
    l->ended = false;
    while (!l->ended) {
        struct epoll_event event;
        int count = await(l, &event);
        if (count < 0 && errno != EINTR)
            return error_set_errno(err, EXIT_CODE_INTERNAL, "waiting for events");
        if (count == 1) {
            struct watch *w = event.data.ptr;
            w->ready(w->context, event.events);
        }
        if (!catches_up(l, count == 1, &behind))
            fire_due(l);
    }
    return 0;
}

/* Replaces a rest that is under way. */
void loop_rest(struct loop *l, int64_t nanoseconds) {
    l->rest = clock_now() + nanoseconds;
}

/* The event that is being handled is the last. */
void loop_end(struct loop *l) {
    l->ended = true;
}
