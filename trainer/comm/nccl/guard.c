#include "trainer/comm/nccl/guard.h"

#include "common/clock.h"

#include <string.h>
#include <time.h>

/* The lock protects the communicator's handle and the failure. NCCL calls on the handle are made
 * under it, so that the thread cannot abort the communicator in the middle of one. The two calls
 * that end the communicator take the handle away under the lock first, and then run without it.
 *
 * There are two ways to a failure: the watching thread finds one (look), or a call reports one
 * (guard_settle). Both only note it. The thread then leaves its loop, takes the handle away, and
 * aborts outside the lock. An abort can hang, and other threads must still be able to ask for the
 * failure.
 *
 * The caller may give up on a hanging abort (guard_close returns -1). The thread then continues by
 * itself with a guard that has to stay in memory. */

/* Interval of the thread's checks, and of checks for the end of a call in progress. */
enum { WATCH_MS = 200, SETTLE_MS = 1 };

/* AT is a time of clock_now(), which is the monotonic clock's. */
static struct timespec timespec_of(int64_t at) {
    return (struct timespec){.tv_sec = (time_t)(at / CLOCK_SECOND),
                             .tv_nsec = (long)(at % CLOCK_SECOND)};
}

/* Call with the lock held. Wakes early when the guard fails or is left. Waking for no reason is
 * harmless to all callers. */
static void wait_ms(struct guard *g, int ms) {
    struct timespec until = timespec_of(clock_now() + ms * CLOCK_MILLISECOND);
    (void)pthread_cond_timedwait(&g->changed, &g->lock, &until);
}

int guard_error(ncclResult_t result, const char *what, struct error *err) {
    const char *words = ncclGetLastError(NULL);
    bool more = words != NULL && words[0] != '\0';
    /* A lost peer or connection is not this device's fault. */
    enum exit_code code = result == ncclRemoteError ? EXIT_CODE_HOST_LOST : EXIT_CODE_DEVICE;
    return error_set(err, code, "NCCL: %s: %s%s%.256s", what, ncclGetErrorString(result),
                     more ? ": " : "", more ? words : "");
}

/* Call with the lock held. Returns the state of the last call. */
static ncclResult_t ask(const struct guard *g) {
    ncclResult_t state = ncclSuccess;
    ncclResult_t asked = ncclCommGetAsyncError(g->comm, &state);
    return asked == ncclSuccess ? state : asked;
}

/* Notes a failure and wakes the thread and waiting calls. Call with the lock held. */
static void fail(struct guard *g, const struct error *failure) {
    g->failed = true;
    g->failure = *failure;
    (void)pthread_cond_broadcast(&g->changed);
}

/* Call with the lock held and a communicator. A sum in progress is no failure before the announced
 * deadline; without one (0) it may take forever. */
static void look(struct guard *g) {
    struct error failure = {0};
    ncclResult_t state = ask(g);
    if (state != ncclSuccess && state != ncclInProgress)
        (void)guard_error(state, "summing over ranks", &failure);
    else if (g->deadline != 0 && clock_now() > g->deadline)
        (void)error_set(
            &failure, EXIT_CODE_STALLED,
            "NCCL: an all-reduce did not finish by its deadline: a rank is gone or hangs");
    else
        return;
    fail(g, &failure);
}

/* Aborts happen on this thread, because they may never return. */
static void *watch(void *argument) {
    struct guard *g = argument;
    (void)pthread_mutex_lock(&g->lock);
    while (!g->leaving && !g->failed) {
        wait_ms(g, WATCH_MS);
        if (g->comm != NULL && !g->leaving && !g->failed)
            look(g);
    }
    ncclComm_t comm = g->comm;
    g->comm = NULL;
    (void)pthread_mutex_unlock(&g->lock);
    if (comm != NULL)
        (void)ncclCommAbort(comm);
    return NULL;
}

/* The condition uses the monotonic clock, on which all deadlines are. */
int guard_init(struct guard *g, struct error *err) {
    pthread_condattr_t monotonic;
    *g = (struct guard){0};
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&g->lock, NULL);
    (void)pthread_cond_init(&g->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    g->running = pthread_create(&g->thread, NULL, watch, g) == 0;
    if (!g->running)
        return error_set(err, EXIT_CODE_INTERNAL, "NCCL: no thread to watch for errors");
    return 0;
}

/* The lock is not recursive: guard_settle and guard_check take it themselves. */
void guard_lock(struct guard *g) {
    (void)pthread_mutex_lock(&g->lock);
}

void guard_unlock(struct guard *g) {
    (void)pthread_mutex_unlock(&g->lock);
}

/* The first failure stays the one that is reported. */
int guard_check(struct guard *g, struct error *err) {
    guard_lock(g);
    bool failed = g->failed;
    if (failed && err != NULL)
        *err = g->failure;
    guard_unlock(g);
    return failed ? -1 : 0;
}

/* Polls every millisecond, as NCCL offers no way to wait for a nonblocking call. A result that is
 * no success makes the guard fail for good, even if the call itself could be repeated. */
int guard_settle(struct guard *g, ncclResult_t result, const char *what, int64_t deadline,
                 struct error *err) {
    struct error failure = {0};
    guard_lock(g);
    while (!g->failed && g->comm != NULL && result == ncclInProgress) {
        result = ask(g);
        if (result != ncclInProgress)
            break;
        if (clock_now() > deadline) {
            (void)error_set(&failure, EXIT_CODE_STALLED,
                            "NCCL: %s: not all ranks had joined by the deadline", what);
            fail(g, &failure);
        } else {
            wait_ms(g, SETTLE_MS);
        }
    }
    if (!g->failed && result != ncclSuccess) {
        (void)guard_error(result, what, &failure);
        fail(g, &failure);
    }
    guard_unlock(g);
    return guard_check(g, err);
}

/* The handle is set by the call even if it is still in progress, so the thread can abort a join
 * that some rank never takes part in. */
int guard_open(struct guard *g, const ncclUniqueId *id, int size, int rank, int64_t deadline,
               struct error *err) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    guard_lock(g);
    ncclResult_t result = ncclCommInitRankConfig(&g->comm, size, *id, rank, &config);
    guard_unlock(g);
    return guard_settle(g, result, "joining the other ranks", deadline, err);
}

void guard_expect(struct guard *g, int64_t deadline) {
    guard_lock(g);
    g->deadline = deadline;
    guard_unlock(g);
}

/* Finalize waits for the sums of all ranks, without blocking; after it Destroy frees the rest at
 * once. The handle is taken away first, so that the thread no longer asks about it. */
int guard_finish(struct guard *g, int64_t deadline, struct error *err) {
    if (guard_check(g, err) != 0)
        return -1;
    guard_lock(g);
    ncclResult_t result = g->comm != NULL ? ncclCommFinalize(g->comm) : ncclSuccess;
    guard_unlock(g);
    if (guard_settle(g, result, "leaving together", deadline, err) != 0)
        return -1;
    guard_lock(g);
    ncclComm_t comm = g->comm;
    g->comm = NULL;
    guard_unlock(g);
    if (comm != NULL)
        (void)ncclCommDestroy(comm);
    return 0;
}

/* The thread aborts what is left when it ends. Returns 0 at once for a guard that was never started
 * or is closed already. */
int guard_close(struct guard *g, int64_t deadline) {
    if (!g->running)
        return 0;
    guard_lock(g);
    g->leaving = true;
    (void)pthread_cond_broadcast(&g->changed);
    guard_unlock(g);
    struct timespec until = timespec_of(deadline);
    if (pthread_clockjoin_np(g->thread, NULL, CLOCK_MONOTONIC, &until) != 0) {
        (void)pthread_detach(g->thread);
        return -1;
    }
    g->running = false;
    (void)pthread_cond_destroy(&g->changed);
    (void)pthread_mutex_destroy(&g->lock);
    return 0;
}
