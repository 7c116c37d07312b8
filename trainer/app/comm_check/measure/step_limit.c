#include "trainer/app/comm_check/measure/step_limit.h"

#include "common/clock.h"
#include "common/log/log.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t nearest_end(const struct step_limit *l) {
    return l->deadline < l->last ? l->deadline : l->last;
}

bool step_limit_over(const struct step_limit *l, int64_t now, struct error *ret) {
    if (now < nearest_end(l))
        return false;
    const bool whole = now >= l->last;
    const int64_t allowed = whole ? l->last - l->begun : l->deadline - l->step_begun;
    (void)error_set(ret, EXIT_CODE_STALLED, "%s did not end within %s%d s", l->step,
                    whole ? "the whole check's " : "", (int)(allowed / CLOCK_SECOND));
    return true;
}

static void *watch(void *argument) {
    struct step_limit *l = argument;
    struct error err;
    (void)pthread_mutex_lock(&l->lock);
    while (!l->ended) {
        if (step_limit_over(l, clock_now(), &err)) {
            log_error("%s", err.text);
            _exit((int)err.code);
        }
        const int64_t end = nearest_end(l);
        const struct timespec until = {.tv_sec = (time_t)(end / CLOCK_SECOND),
                                       .tv_nsec = (long)(end % CLOCK_SECOND)};
        (void)pthread_cond_timedwait(&l->changed, &l->lock, &until);
    }
    (void)pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* Signals are for the program's other threads. */
static int start_thread(struct step_limit *l) {
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int bad = pthread_create(&l->thread, NULL, watch, l);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return bad;
}

int step_limit_start(struct step_limit *l, int seconds, struct error *err) {
    pthread_condattr_t attributes;
    *l = (struct step_limit){.begun = clock_now(), .step = "the start"};
    l->step_begun = l->begun;
    l->last = l->begun + seconds * CLOCK_SECOND;
    l->deadline = l->last;
    (void)pthread_mutex_init(&l->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&l->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    int bad = start_thread(l);
    if (bad != 0)
        return error_set(err, EXIT_CODE_INTERNAL, "thread for time limits: %s", strerror(bad));
    return 0;
}

void step_limit_next(struct step_limit *l, int seconds, const char *format, ...) {
    va_list list;
    (void)pthread_mutex_lock(&l->lock);
    va_start(list, format);
    (void)vsnprintf(l->step, sizeof(l->step), format, list);
    va_end(list);
    l->step_begun = clock_now();
    l->deadline = l->step_begun + seconds * CLOCK_SECOND;
    (void)pthread_cond_signal(&l->changed);
    (void)pthread_mutex_unlock(&l->lock);
}

double step_limit_passed(struct step_limit *l) {
    return (double)(clock_now() - l->begun) / CLOCK_SECOND;
}

void step_limit_end(struct step_limit *l) {
    (void)pthread_mutex_lock(&l->lock);
    l->ended = true;
    (void)pthread_cond_signal(&l->changed);
    (void)pthread_mutex_unlock(&l->lock);
    (void)pthread_join(l->thread, NULL);
    (void)pthread_cond_destroy(&l->changed);
    (void)pthread_mutex_destroy(&l->lock);
}
