#include "trainer/checkpoint/writer.h"

#include "common/clock.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

static void *serve(void *user) {
    struct writer *w = user;
    (void)pthread_mutex_lock(&w->lock);
    for (;;) {
        while (w->state != WRITER_WRITING && !w->closing)
            (void)pthread_cond_wait(&w->changed, &w->lock);
        if (w->state != WRITER_WRITING)
            break;
        (void)pthread_mutex_unlock(&w->lock);
        struct error failure = {0};
        int result = w->order(w->user, &failure);
        (void)pthread_mutex_lock(&w->lock);
        w->failure = failure;
        w->state = result == 0 ? WRITER_DONE : WRITER_FAILED;
        (void)pthread_cond_broadcast(&w->changed);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* Deadlines are points on the monotonic clock. */
static int open_lock(struct writer *w) {
    pthread_condattr_t attributes;
    int bad = pthread_condattr_init(&attributes);
    if (bad != 0)
        return bad;
    bad = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (bad == 0)
        bad = pthread_cond_init(&w->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    if (bad == 0 && (bad = pthread_mutex_init(&w->lock, NULL)) != 0)
        (void)pthread_cond_destroy(&w->changed);
    return bad;
}

static void close_lock(struct writer *w) {
    (void)pthread_mutex_destroy(&w->lock);
    (void)pthread_cond_destroy(&w->changed);
}

int writer_open(struct writer *w, struct error *err) {
    sigset_t all, before;
    *w = (struct writer){0};
    int bad = open_lock(w);
    if (bad == 0) {
        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        bad = pthread_create(&w->thread, NULL, serve, w);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (bad != 0)
            close_lock(w);
    }
    w->running = bad == 0;
    return bad == 0
               ? 0
               : error_set(err, EXIT_CODE_INTERNAL, "thread for checkpoints: %s", strerror(bad));
}

void writer_close(struct writer *w) {
    if (!w->running)
        return;
    (void)pthread_mutex_lock(&w->lock);
    w->closing = true;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
    (void)pthread_join(w->thread, NULL);
    close_lock(w);
    *w = (struct writer){0};
}

int writer_submit(struct writer *w, writer_order *order, void *user, struct error *err) {
    (void)pthread_mutex_lock(&w->lock);
    const bool idle = w->state == WRITER_IDLE;
    if (idle) {
        w->order = order;
        w->user = user;
        w->state = WRITER_WRITING;
        (void)pthread_cond_broadcast(&w->changed);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return idle ? 0
                : error_set(err, EXIT_CODE_INTERNAL, "two checkpoints are to be written at once");
}

/* Call with the lock held. An outcome is taken once. */
static enum writer_state take(struct writer *w, struct error *err) {
    const enum writer_state state = w->state;
    if (state == WRITER_FAILED && err != NULL)
        *err = w->failure;
    if (state != WRITER_WRITING)
        w->state = WRITER_IDLE;
    return state;
}

enum writer_state writer_poll(struct writer *w, struct error *err) {
    if (!w->running)
        return WRITER_IDLE;
    (void)pthread_mutex_lock(&w->lock);
    const enum writer_state state = take(w, err);
    (void)pthread_mutex_unlock(&w->lock);
    return state;
}

enum writer_state writer_drain(struct writer *w, int64_t deadline, struct error *err) {
    const struct timespec until = {.tv_sec = (time_t)(deadline / CLOCK_SECOND),
                                   .tv_nsec = (long)(deadline % CLOCK_SECOND)};
    if (!w->running)
        return WRITER_IDLE;
    (void)pthread_mutex_lock(&w->lock);
    while (w->state == WRITER_WRITING &&
           pthread_cond_timedwait(&w->changed, &w->lock, &until) != ETIMEDOUT) {
    }
    const enum writer_state state = take(w, err);
    (void)pthread_mutex_unlock(&w->lock);
    return state;
}
