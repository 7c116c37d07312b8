/* The guard of a communicator (comm/nccl/guard.h) and the sums on top of it, over an NCCL that does
 * what the test wants: this file stands in for both libraries, as its functions below take
 * precedence over theirs. */
#include "common/clock.h"
#include "tests/support/unit.h"
#include "trainer/comm/comm.h"
#include "trainer/comm/comm_driver.h"
#include "trainer/comm/nccl/comm_nccl.h"
#include "trainer/comm/nccl/guard.h"

#include <cuda_runtime_api.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { FOREVER = 1 << 30 };

/* How the library behaves, and what was asked of it. */
static struct {
    atomic_int busy; /* so many more questions are answered with ncclInProgress */
    atomic_int state;
    atomic_int aborts, finalized, destroyed, opened, sums, registered, deregistered;
    atomic_int early; /* things done on the sums' stream while a sum was still being launched */
    atomic_bool abort_hangs;
    bool empty_recordings; /* sums find no way into a recording */
    bool peer_records_nothing;
    int recordings;
    sem_t release;
    const void *memory;
    size_t bytes;
} nccl;

static void behave(int busy, ncclResult_t state) {
    memset(&nccl, 0, sizeof(nccl));
    atomic_store(&nccl.busy, busy);
    atomic_store(&nccl.state, (int)state);
    (void)sem_init(&nccl.release, 0, 0);
}

static ncclResult_t begun(void) {
    return atomic_load(&nccl.busy) > 0 ? ncclInProgress : ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t *config) {
    (void)size, (void)id, (void)rank;
    atomic_fetch_add(&nccl.opened, 1);
    *comm = (ncclComm_t)&nccl;
    return config->blocking == 0 ? begun() : ncclInvalidUsage;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state) {
    (void)comm;
    *state = atomic_load(&nccl.busy) > 0 ? ncclInProgress : (ncclResult_t)atomic_load(&nccl.state);
    if (*state == ncclInProgress && atomic_load(&nccl.busy) < FOREVER)
        atomic_fetch_sub(&nccl.busy, 1);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
    (void)comm;
    atomic_fetch_add(&nccl.aborts, 1);
    if (atomic_load(&nccl.abort_hangs))
        (void)sem_wait(&nccl.release);
    return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
    (void)comm;
    atomic_fetch_add(&nccl.finalized, 1);
    return begun();
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    (void)comm;
    atomic_fetch_add(&nccl.destroyed, 1);
    return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
    (void)count, (void)comm, (void)stream;
    atomic_fetch_add(&nccl.sums, 1);
    atomic_store(&nccl.busy, 3);
    return from == to && type == ncclFloat32 && op == ncclSum ? ncclInProgress : ncclInvalidUsage;
}

ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *memory, size_t bytes, ncclWindow_t *ret,
                                    int flags) {
    (void)comm;
    atomic_fetch_add(&nccl.registered, 1);
    nccl.memory = memory;
    nccl.bytes = bytes;
    *ret = (ncclWindow_t)memory;
    return flags == NCCL_WIN_DEFAULT ? begun() : ncclInvalidUsage;
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window) {
    (void)comm, (void)window;
    atomic_fetch_add(&nccl.deregistered, atomic_load(&nccl.finalized) == 0);
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
    memset(id, 1, sizeof(*id));
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
    return result == ncclRemoteError ? "remote error" : "some error";
}

const char *ncclGetLastError(ncclComm_t comm) {
    (void)comm;
    return "socket closed";
}

/* --- the CUDA that the sums need ------------------------------------------------------------- */
cudaError_t cudaMalloc(void **ret, size_t bytes) {
    *ret = malloc(bytes);
    return *ret != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFree(void *memory) {
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
    (void)stream;
    nccl.recordings++;
    return mode == cudaStreamCaptureModeThreadLocal ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *ret) {
    (void)stream;
    *ret = (cudaGraph_t)&nccl;
    return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *ret_count) {
    (void)graph, (void)nodes;
    *ret_count = nccl.empty_recordings ? 0 : (size_t)atomic_load(&nccl.sums);
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ret, cudaGraph_t graph,
                                 unsigned long long flags) {
    (void)flags;
    *ret = (cudaGraphExec_t)graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t ready) {
    (void)ready;
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    (void)graph;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void) {
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    (void)event, (void)stream;
    atomic_fetch_add(&nccl.early, atomic_load(&nccl.busy) > 0);
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    (void)stream, (void)event, (void)flags;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    (void)event;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    (void)stream;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *ret, unsigned flags, int priority) {
    *ret = (cudaStream_t)&nccl;
    return flags == cudaStreamNonBlocking && priority == -5 ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ret, unsigned flags) {
    (void)flags;
    *ret = (cudaEvent_t)&nccl;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *ordinal) {
    *ordinal = 0;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *ret, int ordinal) {
    (void)ordinal;
    memset(ret, 0, sizeof(*ret));
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int size, int ordinal) {
    (void)ordinal;
    (void)snprintf(text, (size_t)size, "0000:0A:00.0");
    return cudaSuccess;
}

/* --- tests -------------------------------------------------------------------------------------
 */
static int64_t in_ms(int ms) {
    return clock_now() + ms * CLOCK_MILLISECOND;
}

static void open_guard(struct guard *g, int busy) {
    static const ncclUniqueId id;
    struct error err = {0};
    behave(busy, ncclSuccess);
    CU_ASSERT_EQUAL_FATAL(guard_init(g, &err), 0);
    CU_ASSERT_EQUAL(guard_open(g, &id, 2, 0, in_ms(60000), &err), 0);
}

/* Waits until the guard's own thread has seen it, at most a minute. */
static int wait_for_failure(struct guard *g, struct error *err) {
    int64_t end = in_ms(60000);
    while (guard_check(g, err) == 0 && clock_now() < end)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return guard_check(g, err);
}

static void opening_waits_for_all_ranks_and_leaving_together_frees(void) {
    struct guard g;
    struct error err = {0};
    open_guard(&g, 5);
    CU_ASSERT_EQUAL(atomic_load(&nccl.busy), 0);
    atomic_store(&nccl.busy, 4);
    CU_ASSERT_EQUAL(guard_finish(&g, in_ms(60000), &err), 0);
    CU_ASSERT_EQUAL(guard_close(&g, in_ms(60000)), 0);
    CU_ASSERT_EQUAL(atomic_load(&nccl.finalized), 1);
    CU_ASSERT_EQUAL(atomic_load(&nccl.destroyed), 1);
    CU_ASSERT_EQUAL(atomic_load(&nccl.aborts), 0);
}

static void a_rank_that_never_comes_ends_the_wait_at_the_deadline(void) {
    static const ncclUniqueId id;
    struct guard g;
    struct error err = {0};
    behave(FOREVER, ncclSuccess);
    CU_ASSERT_EQUAL_FATAL(guard_init(&g, &err), 0);
    CU_ASSERT_EQUAL(guard_open(&g, &id, 2, 0, in_ms(50), &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_STALLED);
    CU_ASSERT_EQUAL(guard_close(&g, in_ms(60000)), 0);
    CU_ASSERT_EQUAL(atomic_load(&nccl.aborts), 1);
}

static void an_error_that_nobody_waits_for_is_found_and_aborts(void) {
    struct guard g;
    struct error err = {0};
    open_guard(&g, 0);
    atomic_store(&nccl.state, (int)ncclRemoteError);
    CU_ASSERT_EQUAL(wait_for_failure(&g, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_HOST_LOST);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "remote error: socket closed"));
    /* Later calls tell the same, and do not reach the library. */
    CU_ASSERT_EQUAL(guard_finish(&g, in_ms(60000), &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_HOST_LOST);
    CU_ASSERT_EQUAL(guard_close(&g, in_ms(60000)), 0);
    CU_ASSERT_EQUAL(atomic_load(&nccl.aborts), 1);
    CU_ASSERT_EQUAL(atomic_load(&nccl.finalized), 0);
}

static void a_sum_that_hangs_is_aborted_at_the_announced_deadline(void) {
    struct guard g;
    struct error err = {0};
    open_guard(&g, 0);
    guard_expect(&g, in_ms(20));
    CU_ASSERT_EQUAL(wait_for_failure(&g, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_STALLED);
    CU_ASSERT_EQUAL(guard_close(&g, in_ms(60000)), 0);
    CU_ASSERT_EQUAL(atomic_load(&nccl.aborts), 1);

    /* A wait that ended in time is forgotten. */
    open_guard(&g, 0);
    guard_expect(&g, in_ms(200));
    guard_expect(&g, 0);
    (void)nanosleep(&(struct timespec){.tv_nsec = 450000000}, NULL);
    CU_ASSERT_EQUAL(guard_check(&g, &err), 0);
    CU_ASSERT_EQUAL(guard_close(&g, in_ms(60000)), 0);
}

static void leaving_together_has_a_deadline(void) {
    struct guard g;
    struct error err = {0};
    open_guard(&g, 0);
    atomic_store(&nccl.busy, FOREVER);
    CU_ASSERT_EQUAL(guard_finish(&g, in_ms(50), &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_STALLED);
    CU_ASSERT_EQUAL(guard_close(&g, in_ms(60000)), 0);
    CU_ASSERT_EQUAL(atomic_load(&nccl.destroyed), 0);
    CU_ASSERT_EQUAL(atomic_load(&nccl.aborts), 1);
}

static void an_abort_that_hangs_does_not_hang_the_rank(void) {
    /* Its thread uses it until the process ends. */
    static struct guard g;
    open_guard(&g, 0);
    atomic_store(&nccl.abort_hangs, true);
    int64_t begin = clock_now();
    CU_ASSERT_EQUAL(guard_close(&g, in_ms(100)), -1);
    CU_ASSERT(clock_now() - begin < 60 * CLOCK_SECOND);
    (void)sem_post(&nccl.release);
}

/* A communicator of two ranks; the other rank has another GPU, or the same one. */
struct pair {
    struct comm base;
    bool same;
};

static int pair_gather(struct comm *c, const void *bytes, size_t size, void *all,
                       struct error *err) {
    (void)err;
    memcpy(all, bytes, size);
    memcpy((char *)all + size, bytes, size);
    if (size == 1 && nccl.peer_records_nothing)
        ((char *)all)[1] = 0;
    if (size == sizeof(struct nccl_peer) && !((struct pair *)c)->same)
        ((struct nccl_peer *)((char *)all + size))->uuid[0] ^= 1;
    return 0;
}

static int pair_broadcast(struct comm *c, void *bytes, size_t size, int root, struct error *err) {
    (void)c, (void)bytes, (void)size, (void)root, (void)err;
    return 0;
}

static struct pair pair_of(bool same) {
    static const struct comm_driver driver = {.gather = pair_gather, .broadcast = pair_broadcast};
    return (struct pair){{.driver = &driver, .size = 2, .local_size = 2}, same};
}

static void sums_wait_until_they_are_enqueued(void) {
    struct pair pair = pair_of(false);
    struct device_sum *sum = NULL;
    struct error err = {0};
    float values[4] = {0};
    behave(2, ncclSuccess);
    CU_ASSERT_EQUAL_FATAL(comm_nccl_open(&sum, &pair.base, values, sizeof(values), &err), 0);
    CU_ASSERT_FALSE(sum->unrecorded);
    CU_ASSERT(nccl.recordings == 1 && atomic_load(&nccl.opened) == 1);
    atomic_store(&nccl.sums, 0); /* the one of the recording that was tried */
    CU_ASSERT_EQUAL(atomic_load(&nccl.registered), 1);
    CU_ASSERT(nccl.memory == values && nccl.bytes == sizeof(values));
    CU_ASSERT_EQUAL(device_sum_start(sum, NULL, values, 2, &err), 0);
    CU_ASSERT_EQUAL(device_sum_start(sum, NULL, values + 2, 2, &err), 0);
    CU_ASSERT_EQUAL(device_sum_join(sum, NULL, &err), 0);
    CU_ASSERT_EQUAL(atomic_load(&nccl.sums), 2);
    CU_ASSERT_EQUAL(atomic_load(&nccl.early), 0);
    device_sum_expect(sum, in_ms(60000));
    CU_ASSERT_EQUAL(device_sum_check(sum, &err), 0);
    CU_ASSERT_EQUAL(device_sum_finish(sum, &err), 0);
    CU_ASSERT_EQUAL(atomic_load(&nccl.deregistered), 1);
    CU_ASSERT_EQUAL(device_sum_close(sum), 0);
}

/* On this rank or on another one: all open a new communicator and record nothing. */
static void where_one_rank_cannot_record_none_does(void) {
    for (int other = 0; other < 2; other++) {
        struct pair pair = pair_of(false);
        struct device_sum *sum = NULL;
        struct error err = {0};
        float values[4] = {0};
        behave(0, ncclSuccess);
        nccl.empty_recordings = other == 0;
        nccl.peer_records_nothing = other == 1;
        CU_ASSERT_EQUAL_FATAL(comm_nccl_open(&sum, &pair.base, values, sizeof(values), &err), 0);
        CU_ASSERT_TRUE(sum->unrecorded);
        CU_ASSERT_EQUAL(atomic_load(&nccl.opened), 2);
        CU_ASSERT_EQUAL(atomic_load(&nccl.aborts), 1);
        CU_ASSERT_EQUAL(atomic_load(&nccl.registered), 1);
        CU_ASSERT_EQUAL(device_sum_start(sum, NULL, values, 4, &err), 0);
        CU_ASSERT_EQUAL(device_sum_join(sum, NULL, &err), 0);
        CU_ASSERT_EQUAL(device_sum_finish(sum, &err), 0);
        CU_ASSERT_EQUAL(device_sum_close(sum), 0);
    }
}

static void a_failed_sum_fails_what_follows(void) {
    struct pair pair = pair_of(false);
    struct device_sum *sum = NULL;
    struct error err = {0};
    float values[4] = {0};
    behave(0, ncclSuccess);
    CU_ASSERT_EQUAL_FATAL(comm_nccl_open(&sum, &pair.base, NULL, 0, &err), 0);
    CU_ASSERT_EQUAL(atomic_load(&nccl.registered), 0);
    atomic_store(&nccl.state, (int)ncclUnhandledCudaError);
    CU_ASSERT_EQUAL(device_sum_start(sum, NULL, values, 4, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DEVICE);
    CU_ASSERT_EQUAL(device_sum_start(sum, NULL, values, 4, &err), -1);
    CU_ASSERT_EQUAL(device_sum_check(sum, &err), -1);
    CU_ASSERT_EQUAL(device_sum_close(sum), 0);
    CU_ASSERT_EQUAL(atomic_load(&nccl.aborts), 1);
}

static void two_ranks_on_one_gpu_are_refused_before_nccl_is_asked(void) {
    struct pair pair = pair_of(true);
    struct device_sum *sum = NULL;
    struct error err = {0};
    behave(0, ncclSuccess);
    CU_ASSERT_EQUAL(comm_nccl_open(&sum, &pair.base, NULL, 0, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DEVICE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "ranks 0 ("));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "0000:0A:00.0"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "--comm mpi"));
    CU_ASSERT_EQUAL(atomic_load(&nccl.opened), 0);
}

UNIT_SUITE("nccl.guard", UNIT(opening_waits_for_all_ranks_and_leaving_together_frees),
           UNIT(a_rank_that_never_comes_ends_the_wait_at_the_deadline),
           UNIT(an_error_that_nobody_waits_for_is_found_and_aborts),
           UNIT(a_sum_that_hangs_is_aborted_at_the_announced_deadline),
           UNIT(leaving_together_has_a_deadline), UNIT(an_abort_that_hangs_does_not_hang_the_rank),
           UNIT(sums_wait_until_they_are_enqueued), UNIT(where_one_rank_cannot_record_none_does),
           UNIT(a_failed_sum_fails_what_follows),
           UNIT(two_ranks_on_one_gpu_are_refused_before_nccl_is_asked))
