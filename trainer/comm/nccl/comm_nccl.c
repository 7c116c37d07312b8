#include "comm_nccl/comm_nccl.h"

#include "common/clock.h"

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WATCH_MS = 200, INIT_WATCH_MS = 5 };

struct nccl_sum {
    struct device_sum base; /* first */
    ncclComm_t comm;
    cudaStream_t queue;  /* the backend's; borrowed */
    cudaStream_t stream; /* the sums' own */
    cudaEvent_t made;    /* what a sum reads is there */
    cudaEvent_t summed;
    pthread_t watcher;
    bool watching;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool closing;
    ncclResult_t failure; /* found by the watcher; under the lock */
};

static struct nccl_sum *nccl_of(struct device_sum *s) {
    return (struct nccl_sum *)s;
}

static int nccl_error(ncclResult_t result, const char *what, struct error *err) {
    return error_set(err, EXIT_CODE_DEVICE, "NCCL: %s: %s", what, ncclGetErrorString(result));
}

static int cuda_check(cudaError_t status, const char *what, struct error *err) {
    if (status == cudaSuccess)
        return 0;
    return error_set(err, EXIT_CODE_DEVICE, "NCCL: %s: %s", what, cudaGetErrorString(status));
}

/* Waits up to MS for the end; true when it has come. Under the lock. */
static bool wait_for_end(struct nccl_sum *n, int ms) {
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t at = (int64_t)until.tv_sec * CLOCK_SECOND + until.tv_nsec + ms * CLOCK_MILLISECOND;
    until.tv_sec = (time_t)(at / CLOCK_SECOND);
    until.tv_nsec = (long)(at % CLOCK_SECOND);
    if (!n->closing)
        (void)pthread_cond_timedwait(&n->changed, &n->lock, &until);
    return n->closing;
}

/* NCCL tells of an error only when asked, so this thread asks. */
static void *watch(void *argument) {
    struct nccl_sum *n = argument;
    (void)pthread_mutex_lock(&n->lock);
    while (!wait_for_end(n, WATCH_MS)) {
        ncclResult_t state = ncclSuccess;
        ncclResult_t asked = ncclCommGetAsyncError(n->comm, &state);
        if (asked == ncclSuccess && (state == ncclSuccess || state == ncclInProgress))
            continue;
        n->failure = asked != ncclSuccess ? asked : state;
        (void)ncclCommAbort(n->comm);
        n->comm = NULL;
        break;
    }
    (void)pthread_mutex_unlock(&n->lock);
    return NULL;
}

static int start(struct device_sum *s, void *values, size_t count, struct error *err) {
    struct nccl_sum *n = nccl_of(s);
    if (cuda_check(cudaEventRecord(n->made, n->queue), "starting a sum", err) != 0 ||
        cuda_check(cudaStreamWaitEvent(n->stream, n->made, 0), "starting a sum", err) != 0)
        return -1;
    (void)pthread_mutex_lock(&n->lock);
    ncclResult_t result = n->comm == NULL ? n->failure
                                          : ncclAllReduce(values, values, count, ncclFloat32,
                                                          ncclSum, n->comm, n->stream);
    (void)pthread_mutex_unlock(&n->lock);
    return result == ncclSuccess || result == ncclInProgress
               ? 0
               : nccl_error(result, "starting a sum", err);
}

static int join(struct device_sum *s, struct error *err) {
    struct nccl_sum *n = nccl_of(s);
    if (cuda_check(cudaEventRecord(n->summed, n->stream), "joining the sums", err) != 0)
        return -1;
    return cuda_check(cudaStreamWaitEvent(n->queue, n->summed, 0), "joining the sums", err);
}

static int check(struct device_sum *s, struct error *err) {
    struct nccl_sum *n = nccl_of(s);
    (void)pthread_mutex_lock(&n->lock);
    ncclResult_t failure = n->failure;
    (void)pthread_mutex_unlock(&n->lock);
    return failure == ncclSuccess ? 0 : nccl_error(failure, "summing over ranks", err);
}

/* Safe on a half-opened communicator. */
static void close_sum(struct device_sum *s) {
    struct nccl_sum *n = nccl_of(s);
    if (n->watching) {
        (void)pthread_mutex_lock(&n->lock);
        n->closing = true;
        (void)pthread_cond_signal(&n->changed);
        (void)pthread_mutex_unlock(&n->lock);
        (void)pthread_join(n->watcher, NULL);
    }
    if (n->comm != NULL)
        (void)ncclCommAbort(n->comm);
    if (n->made != NULL)
        (void)cudaEventDestroy(n->made);
    if (n->summed != NULL)
        (void)cudaEventDestroy(n->summed);
    if (n->stream != NULL)
        (void)cudaStreamDestroy(n->stream);
    (void)pthread_cond_destroy(&n->changed);
    (void)pthread_mutex_destroy(&n->lock);
    free(n);
}

static const struct device_sum_driver driver = {start, join, check, close_sum};

/* Initialisation runs in the background, so that a host that never comes is an error, not a hang.
 */
static int wait_for_init(struct nccl_sum *n, struct error *err) {
    int64_t deadline = clock_now() + COMM_NCCL_INIT_SECONDS * CLOCK_SECOND;
    ncclResult_t state = ncclInProgress;
    (void)pthread_mutex_lock(&n->lock);
    ncclResult_t asked = ncclCommGetAsyncError(n->comm, &state);
    while (asked == ncclSuccess && state == ncclInProgress && clock_now() < deadline) {
        (void)wait_for_end(n, INIT_WATCH_MS);
        asked = ncclCommGetAsyncError(n->comm, &state);
    }
    (void)pthread_mutex_unlock(&n->lock);
    if (asked == ncclSuccess && state == ncclSuccess)
        return 0;
    if (asked == ncclSuccess && state == ncclInProgress)
        return error_set(err, EXIT_CODE_STALLED, "NCCL: not all ranks were there within %d s",
                         COMM_NCCL_INIT_SECONDS);
    return nccl_error(asked != ncclSuccess ? asked : state, "init", err);
}

static int open_streams(struct nccl_sum *n, struct error *err) {
    int least = 0, greatest = 0;
    if (cuda_check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "stream", err) != 0 ||
        cuda_check(cudaStreamCreateWithPriority(&n->stream, cudaStreamNonBlocking, greatest),
                   "stream", err) != 0 ||
        cuda_check(cudaEventCreateWithFlags(&n->made, cudaEventDisableTiming), "event", err) != 0)
        return -1;
    return cuda_check(cudaEventCreateWithFlags(&n->summed, cudaEventDisableTiming), "event", err);
}

static int open_comm(struct nccl_sum *n, struct comm *comm, struct error *err) {
    ncclUniqueId id;
    memset(&id, 0, sizeof(id));
    ncclResult_t result = ncclSuccess;
    if (comm_rank(comm) == 0)
        result = ncclGetUniqueId(&id);
    if (result != ncclSuccess)
        return nccl_error(result, "unique id", err);
    if (comm_broadcast(comm, &id, sizeof(id), 0, err) != 0)
        return -1;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    result = ncclCommInitRankConfig(&n->comm, comm_size(comm), id, comm_rank(comm), &config);
    if (result != ncclSuccess && result != ncclInProgress)
        return nccl_error(result, "init", err);
    return wait_for_init(n, err);
}

int comm_nccl_open(struct device_sum **ret, struct comm *comm, void *queue, struct error *err) {
    struct nccl_sum *n = calloc(1, sizeof(*n));
    if (n == NULL)
        return error_no_memory(err, "NCCL");
    n->base.driver = &driver;
    n->queue = queue;
    n->failure = ncclSuccess;
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&n->lock, NULL);
    (void)pthread_cond_init(&n->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    if (open_streams(n, err) != 0 || open_comm(n, comm, err) != 0) {
        close_sum(&n->base);
        return -1;
    }
    if (pthread_create(&n->watcher, NULL, watch, n) != 0) {
        close_sum(&n->base);
        return error_set(err, EXIT_CODE_INTERNAL, "NCCL: no thread to watch for errors");
    }
    n->watching = true;
    *ret = &n->base;
    return 0;
}

const char *comm_nccl_library(void) {
    static char text[32];
    int version = 0;
    (void)ncclGetVersion(&version);
    snprintf(text, sizeof(text), "NCCL %d.%d.%d", version / 10000, version / 100 % 100,
             version % 100);
    return text;
}
