#include "trainer/comm/nccl/comm_nccl.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "trainer/comm/nccl/guard.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sums run on a stream of their own, tied to the device's queue by two events. A sum waits by
 * `made` for its input, and the queue waits by `summed` for all sums. Events and waits are recorded
 * along with the step when there is a recording. Neither call blocks the host for the sum itself.
 *
 * Opening is a sequence of collective steps. What one rank finds out is sent to all before any acts
 * on it (compare_gpus, try_recording), so that all take the same branch. A rank that fails alone
 * ends its process, as comm.h demands, and so ends the wait of the others. */

/* What comm_nccl_open makes; zeroed parts are not open yet. */
struct nccl_sum {
    struct device_sum base; /* must be first */
    struct guard guard;
    cudaStream_t stream; /* the sums' own stream */
    cudaEvent_t made;    /* recorded when a sum's input is complete */
    cudaEvent_t summed;  /* recorded when the last sum so far is complete */
    ncclWindow_t window; /* NULL if nothing is registered */
};

static struct nccl_sum *nccl_of(struct device_sum *s) {
    return (struct nccl_sum *)s;
}

/* Returns a deadline for guard.h. */
static int64_t in_seconds(int seconds) {
    return clock_now() + seconds * CLOCK_SECOND;
}

/* Turns a CUDA error into one of this program; WHAT says what was being done. */
static int cuda_check(cudaError_t status, const char *what, struct error *err) {
    if (status == cudaSuccess)
        return 0;
    return error_set(err, EXIT_CODE_DEVICE, "NCCL: %s: %s", what, cudaGetErrorString(status));
}

void *comm_nccl_alloc(size_t bytes, struct error *err) {
    void *memory = NULL;
    ncclResult_t result = ncclMemAlloc(&memory, bytes);
    if (result == ncclSuccess)
        return memory;
    (void)guard_error(result, "memory", err);
    return NULL;
}

void comm_nccl_free(void *memory) {
    (void)ncclMemFree(memory);
}

/* Enqueues a sum in place on the sums' stream. On return the kernel is on the stream, or the guard
 * has failed. The deadline is that of joining, as NCCL may connect ranks only at the first sum. */
static int enqueue_sum(struct nccl_sum *n, void *values, size_t count, struct error *err) {
    guard_lock(&n->guard);
    ncclResult_t result = n->guard.comm == NULL ? ncclSuccess /* After a failure there is no
                                                               * communicator; guard_settle reports
                                                               * the error. */
                                                : ncclAllReduce(values, values, count, ncclFloat32,
                                                                ncclSum, n->guard.comm, n->stream);
    guard_unlock(&n->guard);
    return guard_settle(&n->guard, result, "starting a sum", in_seconds(COMM_NCCL_INIT_SECONDS),
                        err);
}

/* A nonblocking communicator enqueues on a thread of NCCL's. Wait until it has before returning:
 * an event recorded earlier would not cover the sum, and in a recording it would be lost. */
static int start(struct device_sum *s, void *queue, void *values, size_t count, struct error *err) {
    struct nccl_sum *n = nccl_of(s);
    if (cuda_check(cudaEventRecord(n->made, queue), "starting a sum", err) != 0 ||
        cuda_check(cudaStreamWaitEvent(n->stream, n->made, 0), "starting a sum", err) != 0)
        return -1;
    return enqueue_sum(n, values, count, err);
}

/* Only the latest sum has to be waited for, since the stream keeps their order. */
static int join(struct device_sum *s, void *queue, struct error *err) {
    struct nccl_sum *n = nccl_of(s);
    if (cuda_check(cudaEventRecord(n->summed, n->stream), "joining the sums", err) != 0)
        return -1;
    return cuda_check(cudaStreamWaitEvent(queue, n->summed, 0), "joining the sums", err);
}

static void expect(struct device_sum *s, int64_t deadline) {
    guard_expect(&nccl_of(s)->guard, deadline);
}

/* Ends the announced wait, and reports what the guard has found. */
static int check(struct device_sum *s, struct error *err) {
    guard_expect(&nccl_of(s)->guard, 0);
    return guard_check(&nccl_of(s)->guard, err);
}

/* The window is deregistered while the communicator still exists; after an abort it is gone with
 * it. */
static int finish(struct device_sum *s, struct error *err) {
    struct nccl_sum *n = nccl_of(s);
    guard_lock(&n->guard);
    if (n->guard.comm != NULL && n->window != NULL)
        (void)ncclCommWindowDeregister(n->guard.comm, n->window);
    n->window = NULL;
    guard_unlock(&n->guard);
    return guard_finish(&n->guard, in_seconds(COMM_NCCL_FINISH_SECONDS), err);
}

/* Safe on half-opened sums. If the guard's thread hangs in an abort, nothing at all is freed:
 * kernels may still use it. */
static int close_sum(struct device_sum *s) {
    struct nccl_sum *n = nccl_of(s);
    if (guard_close(&n->guard, in_seconds(COMM_NCCL_ABORT_SECONDS)) != 0)
        return -1;
    if (n->made != NULL)
        (void)cudaEventDestroy(n->made);
    if (n->summed != NULL)
        (void)cudaEventDestroy(n->summed);
    if (n->stream != NULL)
        (void)cudaStreamDestroy(n->stream);
    free(n);
    return 0;
}

/* The highest priority lets a sum's kernels start while kernels of the backward pass are waiting.
 * CUDA recommends events without timing for cudaStreamWaitEvent(). */
static int open_stream(struct nccl_sum *n, struct error *err) {
    int least = 0, greatest = 0;
    if (cuda_check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "stream", err) != 0 ||
        cuda_check(cudaStreamCreateWithPriority(&n->stream, cudaStreamNonBlocking, greatest),
                   "stream", err) != 0 ||
        cuda_check(cudaEventCreateWithFlags(&n->made, cudaEventDisableTiming), "event", err) != 0)
        return -1;
    return cuda_check(cudaEventCreateWithFlags(&n->summed, cudaEventDisableTiming), "event", err);
}

/* Returns the first rank before RANK with the same GPU, or -1. */
static int duplicate_of(const struct nccl_peer *all, int rank) {
    for (int i = 0; i < rank; i++)
        if (memcmp(all[i].uuid, all[rank].uuid, sizeof(all[i].uuid)) == 0)
            return i;
    return -1;
}

/* Fails with EXIT_CODE_DEVICE and both ranks' names if two of the COUNT ranks share a GPU: NCCL
 * needs one GPU a rank, and its own error is obscure. */
static int check_peers(const struct nccl_peer *all, int count, struct error *err) {
    for (int rank = 1; rank < count; rank++) {
        int duplicate = duplicate_of(all, rank);
        if (duplicate >= 0)
            return error_set(err, EXIT_CODE_DEVICE,
                             "NCCL: ranks %d (%.64s) and %d (%.64s) have the same GPU %.16s; NCCL "
                             "needs one GPU per rank, --comm mpi lets ranks share one",
                             duplicate, all[duplicate].host, rank, all[rank].host,
                             all[rank].address);
    }
    return 0;
}

/* All ranks get the list of GPUs, so that all of them refuse together. */
static int compare_gpus(struct comm *comm, struct error *err) {
    struct cudaDeviceProp properties;
    struct nccl_peer own = {0};
    int ordinal = 0;
    if (cuda_check(cudaGetDevice(&ordinal), "this rank's GPU", err) != 0 ||
        cuda_check(cudaGetDeviceProperties(&properties, ordinal), "this rank's GPU", err) != 0 ||
        cuda_check(cudaDeviceGetPCIBusId(own.address, sizeof(own.address), ordinal),
                   "this rank's GPU", err) != 0)
        return -1;
    memcpy(own.uuid, properties.uuid.bytes, sizeof(own.uuid));
    (void)gethostname(own.host, sizeof(own.host) - 1);
    cleanup_free struct nccl_peer *all = calloc((size_t)comm_size(comm), sizeof(*all));
    if (all == NULL)
        return error_no_memory(err, "the GPUs of all ranks");
    if (comm_gather(comm, &own, sizeof(own), all, err) != 0)
        return -1;
    return check_peers(all, comm_size(comm), err);
}

/* Rank 0 makes the id, which all ranks need to find each other, and COMM carries it. */
static int open_guard(struct nccl_sum *n, struct comm *comm, struct error *err) {
    ncclUniqueId id;
    memset(&id, 0, sizeof(id));
    ncclResult_t result = comm_rank(comm) == 0 ? ncclGetUniqueId(&id) : ncclSuccess;
    if (result != ncclSuccess)
        return guard_error(result, "unique id", err);
    if (comm_broadcast(comm, &id, sizeof(id), 0, err) != 0)
        return -1;
    return guard_open(&n->guard, &id, comm_size(comm), comm_rank(comm),
                      in_seconds(COMM_NCCL_INIT_SECONDS), err);
}

/* Returns true if a sum of the float at VALUE, on N's stream, is in a recording of that stream. It
 * is never run. The thread-local mode lets other threads continue calling CUDA. The error that a
 * failed recording leaves is cleared at the end, or a later call would report it. */
static bool sum_is_recorded(struct nccl_sum *n, float *value) {
    struct error err = {0};
    cudaGraph_t graph = NULL;
    cudaGraphExec_t ready = NULL;
    size_t nodes = 0;
    if (cudaStreamBeginCapture(n->stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess)
        return false;
    bool summed = enqueue_sum(n, value, 1, &err) == 0;
    bool ended = cudaStreamEndCapture(n->stream, &graph) == cudaSuccess;
    bool recorded = summed && ended && cudaGraphGetNodes(graph, NULL, &nodes) == cudaSuccess &&
                    nodes > 0 && cudaGraphInstantiate(&ready, graph, 0) == cudaSuccess;
    if (ready != NULL)
        (void)cudaGraphExecDestroy(ready);
    if (graph != NULL)
        (void)cudaGraphDestroy(graph);
    (void)cudaGetLastError();
    return recorded;
}

/* Collective. All ranks try; RET: it works on all of them. One rank that cannot record decides for
 * all, as recorded and unrecorded steps would not meet. */
static int try_recording(struct nccl_sum *n, struct comm *comm, bool *ret, struct error *err) {
    float *value = NULL;
    if (cuda_check(cudaMalloc((void **)&value, sizeof(*value)), "memory", err) != 0)
        return -1;
    const unsigned char own = sum_is_recorded(n, value);
    (void)cudaFree(value);
    cleanup_free unsigned char *all = calloc((size_t)comm_size(comm), 1);
    if (all == NULL)
        return error_no_memory(err, "the test of recordings on all ranks");
    if (comm_gather(comm, &own, sizeof(own), all, err) != 0)
        return -1;
    *ret = memchr(all, 0, (size_t)comm_size(comm)) == NULL;
    return 0;
}

/* A communicator is aborted after a failed recording and is opened again. NCCL gives no promise
 * about a communicator after such a failure, so it is not used any more. */
static int open_checked(struct nccl_sum *n, struct comm *comm, struct error *err) {
    bool recorded = false;
    if (open_guard(n, comm, err) != 0 || try_recording(n, comm, &recorded, err) != 0)
        return -1;
    if (recorded)
        return 0;
    n->base.unrecorded = true;
    if (guard_close(&n->guard, in_seconds(COMM_NCCL_ABORT_SECONDS)) != 0)
        return error_set(err, EXIT_CODE_DEVICE, "NCCL: a recorded sum could not be discarded");
    n->guard = (struct guard){0};
    if (guard_init(&n->guard, err) != 0)
        return -1;
    return open_guard(n, comm, err);
}

/* All ranks register their arena at the same offset of its memory, or none does. If ranks cannot
 * reach each other's memory, NCCL registers it with its network or transport. */
static int open_window(struct nccl_sum *n, void *memory, size_t bytes, struct error *err) {
    if (memory == NULL)
        return 0;
    guard_lock(&n->guard);
    /* The symmetric kernels of 2.28 wait for peers without checking the abort flag. */
    ncclResult_t result =
        n->guard.comm == NULL
            ? ncclSuccess
            : ncclCommWindowRegister(n->guard.comm, memory, bytes, &n->window, NCCL_WIN_DEFAULT);
    guard_unlock(&n->guard);
    return guard_settle(&n->guard, result,
                        "registering the gradients (NCCL_WIN_ENABLE=0 turns that off)",
                        in_seconds(COMM_NCCL_INIT_SECONDS), err);
}

static const struct device_sum_driver driver = {start, join, expect, check, finish, close_sum};

/* The order is fixed on all ranks, since most steps are collective. The guard's thread starts
 * first: it has to be there when the first collective step hangs. */
int comm_nccl_open(struct device_sum **ret, struct comm *comm, void *memory, size_t bytes,
                   struct error *err) {
    struct nccl_sum *n = calloc(1, sizeof(*n));
    if (n == NULL)
        return error_no_memory(err, "NCCL");
    n->base.driver = &driver;
    if (guard_init(&n->guard, err) != 0 || compare_gpus(comm, err) != 0 ||
        open_stream(n, err) != 0 || open_checked(n, comm, err) != 0 ||
        open_window(n, memory, bytes, err) != 0) {
        (void)close_sum(&n->base);
        return -1;
    }
    *ret = &n->base;
    return 0;
}

/* VERSION is in the form that NCCL has used since 2.9: 21803 is 2.18.3. */
static const char *version_text(char *text, size_t size, int version) {
    (void)snprintf(text, size, "NCCL %d.%d.%d", version / 10000, version / 100 % 100,
                   version % 100);
    return text;
}

const char *comm_nccl_text(void) {
    static char text[32];
    return version_text(text, sizeof(text), NCCL_VERSION_CODE);
}

const char *comm_nccl_loaded(void) {
    static char text[32];
    int version = 0;
    (void)ncclGetVersion(&version);
    return version_text(text, sizeof(text), version);
}
