#include "trainer/backend/cuda/queue.h"

#include "trainer/backend/cuda/base/device.h"
#include "trainer/backend/cuda/dnn/convs.h"

#include <string.h>

/* The device's side of a step (struct backend_device in graph/backend.h). There are three streams:
 * the main chain of forward and backward passes, a side stream for weight gradients, and copies of
 * the next batch. `select` says which of them the following calls use; events order work between
 * streams. Only reach(), host_free() and set_optimizer_state() wait for the device.
 *
 * A step that repeats is recorded once as a CUDA graph and replayed, which saves the launches' cost
 * on the host. While a stream records, calls enqueue into the recording and nothing runs. */

static struct cuda *cuda_of(struct backend *backend) {
    return (struct cuda *)backend;
}

/* WHAT is the activity for the error text. */
static int check(cudaError_t status, const char *what, struct error *err) {
    return status == cudaSuccess ? 0 : cuda_error(status, what, err);
}

int cuda_queue_open(struct cuda *cuda, struct error *err) {
    int least = 0, greatest = 0;
    cudaError_t status = cudaDeviceGetStreamPriorityRange(&least, &greatest);
    /* Only the optimizer waits for a weight gradient: give its stream a lower priority than the
     * main chain. */
    for (int i = 0; i < BACKEND_STREAMS && status == cudaSuccess; i++)
        status = cudaStreamCreateWithPriority(&cuda->streams[i], cudaStreamNonBlocking,
                                              i == STREAM_MAIN ? greatest : least);
    /* Blocking waits for an event leave the host's core to threads that decode pictures. */
    for (int i = 0; i < BACKEND_EVENTS && status == cudaSuccess; i++)
        status = cudaEventCreateWithFlags(&cuda->events[i],
                                          cudaEventDisableTiming | cudaEventBlockingSync);
    cuda->stream = cuda->streams[STREAM_MAIN];
    return check(status, "opening the GPU", err);
}

/* Safe on half-opened ones. Destroying a stream with pending work is allowed: CUDA frees it when
 * the work is done. */
void cuda_queue_close(struct cuda *cuda) {
    for (int i = 0; i < BACKEND_EVENTS; i++)
        if (cuda->events[i] != NULL)
            (void)cudaEventDestroy(cuda->events[i]);
    for (int i = 0; i < BACKEND_STREAMS; i++)
        if (cuda->streams[i] != NULL)
            (void)cudaStreamDestroy(cuda->streams[i]);
}

/* cuDNN's handle has a stream of its own, so it has to follow; cuBLASLt takes one per call. */
static int select_stream(struct backend *backend, enum backend_stream stream, struct error *err) {
    struct cuda *cuda = cuda_of(backend);
    cuda->stream = cuda->streams[stream];
    return convs_stream(cuda, err);
}

/* Marks the end of what the selected stream has been given so far. Recording an event again moves
 * it. */
static int event(struct backend *backend, int number, struct error *err) {
    struct cuda *cuda = cuda_of(backend);
    return check(cudaEventRecord(cuda->events[number], cuda->stream), "recording an event", err);
}

/* Lets the selected stream wait, not the host. */
static int wait_for_event(struct backend *backend, int number, struct error *err) {
    struct cuda *cuda = cuda_of(backend);
    return check(cudaStreamWaitEvent(cuda->stream, cuda->events[number], 0), "joining streams",
                 err);
}

/* Blocks the calling thread. Errors of kernels that ran before the event appear here. */
static int reach(struct backend *backend, int number, struct error *err) {
    return check(cudaEventSynchronize(cuda_of(backend)->events[number]), "running a step", err);
}

/* For libraries that enqueue by themselves, such as NCCL: the selected stream. */
static void *queue(struct backend *backend) {
    return cuda_of(backend)->stream;
}

/* Thread-local mode: CUDA calls of other threads of this process are not part of the step. */
static int capture_begin(struct backend *backend, struct error *err) {
    return check(cudaStreamBeginCapture(cuda_of(backend)->stream, cudaStreamCaptureModeThreadLocal),
                 "recording a step", err);
}

/* The graph is only needed to make the executable one. A failed recording leaves nothing behind;
 * *RET_RECORDING is then unchanged. */
static int capture_end(struct backend *backend, void **ret_recording, struct error *err) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t ready = NULL;
    cudaError_t status = cudaStreamEndCapture(cuda_of(backend)->stream, &graph);
    if (status == cudaSuccess)
        status = cudaGraphInstantiate(&ready, graph, 0);
    if (graph != NULL)
        (void)cudaGraphDestroy(graph);
    if (status != cudaSuccess)
        return cuda_error(status, "recording a step", err);
    *ret_recording = ready;
    return 0;
}

/* Enqueues the whole recording in the selected stream; several replays run one after another. */
static int replay(struct backend *backend, void *recording, struct error *err) {
    return check(cudaGraphLaunch(recording, cuda_of(backend)->stream), "replaying a step", err);
}

/* RECORDING is what capture_end() made; it must not be running. */
static void forget(struct backend *backend, void *recording) {
    (void)backend;
    (void)cudaGraphExecDestroy(recording);
}

/* Memory that ranks all-reduce: NCCL may want it from its own allocator. It is zeroed like all
 * other memory of the backend. */
static void *alloc_summed(struct backend *backend, size_t bytes, struct error *err) {
    const struct backend_memory *summed = &cuda_of(backend)->options.summed;
    if (summed->alloc == NULL)
        return backend->table->alloc(backend, bytes, err);
    void *memory = summed->alloc(bytes, err);
    if (memory == NULL)
        (void)cuda_memory_error(bytes, err);
    else if (check(cudaMemsetAsync(memory, 0, bytes, cuda_of(backend)->stream), "clearing", err) !=
             0) {
        summed->free(memory);
        return NULL;
    }
    return memory;
}

/* 0 if it is unknown. Other processes may take it at any time. */
static size_t memory_left(struct backend *backend) {
    (void)backend;
    size_t left = 0, total = 0;
    if (cudaMemGetInfo(&left, &total) == cudaSuccess)
        return left;
    (void)cudaGetLastError();
    return 0;
}

/* Memory goes back to the allocator that alloc_summed() used. */
static void free_summed(struct backend *backend, void *memory, size_t bytes) {
    const struct backend_memory *summed = &cuda_of(backend)->options.summed;
    if (summed->alloc == NULL)
        backend->table->free(backend, memory, bytes);
    else
        summed->free(memory);
}

/* Pinned: only from such memory does a copy run while the host continues. */
static void *host_alloc(struct backend *backend, size_t bytes, struct error *err) {
    (void)backend;
    void *memory = NULL;
    if (check(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault), "pinned memory", err) != 0)
        return NULL;
    memset(memory, 0, bytes);
    return memory;
}

static void host_free(struct backend *backend, void *memory) {
    /* Wait until no copy from it is pending. */
    (void)cudaStreamSynchronize(cuda_of(backend)->streams[STREAM_COPY]);
    (void)cudaFreeHost(memory);
}

/* Enqueued on the selected stream. The direction follows from the addresses; the host's side must
 * stay valid until the stream has passed. */
static int copy(struct backend *backend, void *to, const void *from, size_t bytes,
                struct error *err) {
    return check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, cuda_of(backend)->stream),
                 "copying", err);
}

/* Sets bytes to zero, which is 0 in every type. */
static int clear(struct backend *backend, void *memory, size_t bytes, struct error *err) {
    return check(cudaMemsetAsync(memory, 0, bytes, cuda_of(backend)->stream), "clearing", err);
}

/* Sums of gradients over micro-batches, which may be in half precision (struct
 * backend_gradients). */
int cuda_queue_add(struct backend *backend, const struct backend_sum *sum, struct error *err) {
    return check(launch_add_gradients(cuda_of(backend)->stream, sum), "adding gradients", err);
}

/* The whole arena as one row of values, so the launcher's width must fit an int. */
int cuda_queue_refresh_half(struct backend *backend, const struct half_copy *copy,
                            struct error *err) {
    return check(launch_pack(cuda_of(backend)->stream, (enum dtype)copy->type, copy->half,
                             copy->wide, 1, (int)copy->count, (int)copy->count),
                 "rounding weights", err);
}

/* The rule is copied from pageable memory, which CUDA copies aside before the call returns; RULE
 * may be on the caller's stack. */
static int set_optimizer(struct backend *backend, const struct optimizer_rule *rule,
                         struct error *err) {
    struct cuda *cuda = cuda_of(backend);
    return check(cudaMemcpyAsync(&cuda->control->rule, rule, sizeof(*rule), cudaMemcpyHostToDevice,
                                 cuda->stream),
                 "setting the learning rate", err);
}

/* The same update in the form of kernels/launch.h, which knows no backend. */
static struct optimizer_args args_of(const struct backend_update *update) {
    return (struct optimizer_args){.weights = update->weights,
                                   .state = update->state,
                                   .kind = update->kind,
                                   .norms = update->norms,
                                   .gradients = update->gradients,
                                   .half = update->half_copy.half,
                                   .half_type = (enum dtype)update->half_copy.type,
                                   .groups = update->groups,
                                   .clips = update->clips,
                                   .void_flag = update->void_flag,
                                   .loss = update->loss,
                                   .count = update->count,
                                   .states = update->states,
                                   .states_before = update->states_before,
                                   .state_count = update->state_count};
}

/* The update and all it decides, such as skipping a step that is not finite, happen on the
 * device. */
int cuda_queue_optimizer(struct backend *backend, const struct backend_update *update,
                         struct error *err) {
    struct cuda *cuda = cuda_of(backend);
    struct optimizer_args args = args_of(update);
    return check(launch_optimizer(cuda->stream, cuda->control, &args), "the optimizer", err);
}

/* Enqueued: RET is valid when the stream has passed this point. */
static int optimizer_state(struct backend *backend, struct backend_optimizer_state *ret,
                           struct error *err) {
    return copy(backend, ret, &cuda_of(backend)->control->state, sizeof(*ret), err);
}

/* Blocking, as a checkpoint is restored outside of steps. */
static int set_optimizer_state(struct backend *backend, const struct backend_optimizer_state *state,
                               struct error *err) {
    return backend->table->copy_in(backend, &cuda_of(backend)->control->state, state,
                                   sizeof(*state), err);
}

/* Leaves the sum in `control`, from which squares() copies it. */
int cuda_queue_squares(struct backend *backend, const struct backend_update *update,
                       struct error *err) {
    struct cuda *cuda = cuda_of(backend);
    struct optimizer_args args = args_of(update);
    return check(launch_squares(cuda->stream, cuda->control, &args), "the penalty", err);
}

/* The sum of the squared weights, each times its group's decay; enqueued, like
 * optimizer_state(). */
static int squares(struct backend *backend, const struct backend_update *update, double *ret,
                   struct error *err) {
    if (cuda_queue_squares(backend, update, err) != 0)
        return -1;
    return copy(backend, ret, &cuda_of(backend)->control->squares, sizeof(*ret), err);
}

/* Shared by all open backends of the process: state is in struct cuda alone. */
const struct backend_device cuda_queue = {
    .select = select_stream,
    .event = event,
    .wait = wait_for_event,
    .reach = reach,
    .queue = queue,
    .capture_begin = capture_begin,
    .capture_end = capture_end,
    .replay = replay,
    .forget = forget,
    .memory_left = memory_left,
    .alloc_summed = alloc_summed,
    .free_summed = free_summed,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .copy = copy,
    .clear = clear,
    .refresh_half = cuda_queue_refresh_half,
    .half_gradient = cuda_half_gradient,
    .add = cuda_queue_add,
    .set_optimizer = set_optimizer,
    .update = cuda_queue_optimizer,
    .optimizer_state = optimizer_state,
    .set_optimizer_state = set_optimizer_state,
    .squares = squares,
};
