#include "trainer/comm/work_queue.h"

#include "common/clock.h"

#include <errno.h>
#include <string.h>
#include <time.h>

int work_queue_init(struct work_queue *q, struct error *err) {
    memset(q, 0, sizeof(*q));
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return error_no_memory(err, "queue of the communication thread");
    /* Deadlines are points on the monotonic clock, as everywhere. */
    int bad = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (bad == 0)
        bad = pthread_cond_init(&q->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    if (bad == 0 && (bad = pthread_mutex_init(&q->lock, NULL)) != 0)
        (void)pthread_cond_destroy(&q->changed);
    if (bad != 0)
        return error_set(err, EXIT_CODE_INTERNAL, "queue of the communication thread: %s",
                         strerror(bad));
    return 0;
}

void work_queue_done(struct work_queue *q) {
    (void)pthread_mutex_destroy(&q->lock);
    (void)pthread_cond_destroy(&q->changed);
}

/* Waits once for a change; returns false if DEADLINE has passed. */
static bool wait_change(struct work_queue *q, int64_t deadline) {
    struct timespec until = {
        .tv_sec = (time_t)(deadline / CLOCK_SECOND),
        .tv_nsec = (long)(deadline % CLOCK_SECOND),
    };
    return pthread_cond_timedwait(&q->changed, &q->lock, &until) != ETIMEDOUT;
}

/* Call with the lock held. Returns 0, or -1 with the error. */
static int check(const struct work_queue *q, bool in_time, const char *what, struct error *err) {
    if (q->failed) {
        if (err != NULL)
            *err = q->failure;
        return -1;
    }
    if (!in_time)
        return error_set(err, EXIT_CODE_STALLED, "the other ranks did not answer in time (%s)",
                         what);
    return 0;
}

int work_queue_post(struct work_queue *q, const struct work *work, int64_t deadline,
                    uint64_t *ret_ticket, struct error *err) {
    bool in_time = true;
    (void)pthread_mutex_lock(&q->lock);
    while (!q->failed && in_time && q->posted - q->finished == WORK_QUEUE_MAX)
        in_time = wait_change(q, deadline);
    int result = check(q, in_time, "queue full", err);
    if (result == 0 && q->closed)
        result = error_set(err, EXIT_CODE_INTERNAL, "the communicator is closed");
    if (result == 0) {
        q->ring[q->posted % WORK_QUEUE_MAX] = *work;
        *ret_ticket = ++q->posted;
        (void)pthread_cond_broadcast(&q->changed);
    }
    (void)pthread_mutex_unlock(&q->lock);
    return result;
}

int work_queue_wait(struct work_queue *q, uint64_t ticket, int64_t deadline, struct error *err) {
    bool in_time = true;
    (void)pthread_mutex_lock(&q->lock);
    while (!q->failed && in_time && q->finished < ticket)
        in_time = wait_change(q, deadline);
    int result = q->finished >= ticket ? 0 : check(q, in_time, "waiting for a result", err);
    (void)pthread_mutex_unlock(&q->lock);
    return result;
}

void work_queue_close(struct work_queue *q) {
    (void)pthread_mutex_lock(&q->lock);
    q->closed = true;
    (void)pthread_cond_broadcast(&q->changed);
    (void)pthread_mutex_unlock(&q->lock);
}

bool work_queue_take(struct work_queue *q, struct work *ret) {
    (void)pthread_mutex_lock(&q->lock);
    while (!q->failed && !q->closed && q->taken == q->posted)
        (void)pthread_cond_wait(&q->changed, &q->lock);
    bool got = !q->failed && q->taken < q->posted;
    if (got)
        *ret = q->ring[q->taken++ % WORK_QUEUE_MAX];
    (void)pthread_mutex_unlock(&q->lock);
    return got;
}

void work_queue_finish(struct work_queue *q) {
    (void)pthread_mutex_lock(&q->lock);
    q->finished++;
    (void)pthread_cond_broadcast(&q->changed);
    (void)pthread_mutex_unlock(&q->lock);
}

void work_queue_fail(struct work_queue *q, const struct error *failure) {
    (void)pthread_mutex_lock(&q->lock);
    if (!q->failed) {
        q->failed = true;
        q->failure = *failure;
    }
    (void)pthread_cond_broadcast(&q->changed);
    (void)pthread_mutex_unlock(&q->lock);
}

void work_queue_leave(struct work_queue *q) {
    (void)pthread_mutex_lock(&q->lock);
    q->left = true;
    (void)pthread_cond_broadcast(&q->changed);
    (void)pthread_mutex_unlock(&q->lock);
}

bool work_queue_await_leave(struct work_queue *q, int64_t deadline) {
    bool in_time = true;
    (void)pthread_mutex_lock(&q->lock);
    while (!q->left && in_time)
        in_time = wait_change(q, deadline);
    bool left = q->left;
    (void)pthread_mutex_unlock(&q->lock);
    return left;
}
