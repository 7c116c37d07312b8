/* Event loop of a process: descriptors, timers and signals, each with a callback.
 *
 * A process has one loop and no threads, and a callback never blocks. Each callback gets its own
 * context pointer.
 *
 * Watches and timers are members of the caller's structs and must be removed (loop_unwatch,
 * loop_cancel) before that memory is freed. One event is taken from the kernel at a time, so a
 * callback may remove and free anything, including itself. Deadlines are points of clock_now().
 *
 * Input that can be read is handled before timers that are due, for at most 0.2 s: after a pause of
 * the process, as in a paused container, what has arrived in time counts as in time. */
#ifndef ENTRYPOINT_OS_LOOP_H
#define ENTRYPOINT_OS_LOOP_H

#include "common/error.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct loop;

struct watch {
    int fd;
    void (*ready)(void *context, uint32_t events); /* EPOLLIN, EPOLLOUT, EPOLLHUP ... */
    void *context;
    bool active;
};

struct timer {
    int64_t deadline; /* the latest, where it may fire between two times */
    int64_t slack;    /* it may fire so much earlier; 0: it may not */
    void (*fire)(void *context);
    void *context;
    struct timer *next;
    bool active;
};

struct loop {
    int epoll_fd;
    struct timer *timers; /* by deadline */
    struct timer *loose;  /* those with slack, likewise: few */
    struct watch signals; /* signalfd */
    void (*on_signal)(void *context, int number);
    void *signal_context;
    int64_t rest; /* descriptors wait until then */
    bool ended;
};

int loop_init(struct loop *l, struct error *err);
void loop_done(struct loop *l);

/* Blocks SET in this process and hands each of its signals to ON_SIGNAL instead. */
int loop_signals(struct loop *l, const sigset_t *set, void (*on_signal)(void *context, int number),
                 void *context, struct error *err);

/* Watches w->fd for EVENTS; called again for the same watch it changes the events. */
int loop_watch(struct loop *l, struct watch *w, uint32_t events, struct error *err);
/* Not watched is fine. Does not close the descriptor. */
void loop_unwatch(struct loop *l, struct watch *w);

/* Fires once at DEADLINE; sets anew a timer that is already set. */
void loop_at(struct loop *l, struct timer *t, int64_t deadline);
void loop_after(struct loop *l, struct timer *t, int64_t nanoseconds);
/* Fires once, NANOSECONDS (more than 0) from now, or after half of that when the loop is awake for
 * something else: what is done now and then and is not urgent does not wake the process by itself.
 */
void loop_within(struct loop *l, struct timer *t, int64_t nanoseconds);
void loop_cancel(struct loop *l, struct timer *t);

/* For NANOSECONDS timers and signals alone wake the loop, unless a signal comes: what is on its way
 * on several descriptors is then dealt with in one go. */
void loop_rest(struct loop *l, int64_t nanoseconds);

/* Runs until loop_end() has been called from a callback. */
int loop_run(struct loop *l, struct error *err);
void loop_end(struct loop *l);

#endif
