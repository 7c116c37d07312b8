#include "cuda/queue.h"

#include "cuda/device.h"

#include <string.h>

static struct cuda *cuda_of(struct backend *backend) {
    return (struct cuda *)backend;
}

static int check(cudaError_t status, const char *what, struct error *err) {
    return status == cudaSuccess ? 0 : cuda_error(status, what, err);
}

static void *queue(struct backend *backend) {
    return cuda_of(backend)->stream;
}

/* Thread-local: what other threads of this process do with CUDA is not part of the step. */
static int record_begin(struct backend *backend, struct error *err) {
    return check(cudaStreamBeginCapture(cuda_of(backend)->stream, cudaStreamCaptureModeThreadLocal),
                 "recording a step", err);
}

static int record_end(struct backend *backend, void **ret_recording, struct error *err) {
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

static int replay(struct backend *backend, void *recording, struct error *err) {
    return check(cudaGraphLaunch(recording, cuda_of(backend)->stream), "replaying a step", err);
}

static void forget(struct backend *backend, void *recording) {
    (void)backend;
    (void)cudaGraphExecDestroy(recording);
}

static void *alloc_summed(struct backend *backend, size_t bytes, struct error *err) {
    const struct backend_memory *summed = &cuda_of(backend)->options.summed;
    if (summed->alloc == NULL)
        return backend->table->alloc(backend, bytes, err);
    void *memory = summed->alloc(bytes, err);
    if (memory != NULL &&
        check(cudaMemsetAsync(memory, 0, bytes, cuda_of(backend)->stream), "clearing", err) != 0) {
        summed->free(memory);
        return NULL;
    }
    return memory;
}

static void free_summed(struct backend *backend, void *memory, size_t bytes) {
    const struct backend_memory *summed = &cuda_of(backend)->options.summed;
    if (summed->alloc == NULL)
        backend->table->free(backend, memory, bytes);
    else
        summed->free(memory);
}

static void *host_alloc(struct backend *backend, size_t bytes, struct error *err) {
    (void)backend;
    void *memory = NULL;
    if (check(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault), "pinned memory", err) != 0)
        return NULL;
    memset(memory, 0, bytes);
    return memory;
}

static void host_free(struct backend *backend, void *memory) {
    (void)backend;
    (void)cudaFreeHost(memory);
}

static int copy(struct backend *backend, void *to, const void *from, size_t bytes,
                struct error *err) {
    return check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, cuda_of(backend)->stream),
                 "copying", err);
}

static int clear(struct backend *backend, void *memory, size_t bytes, struct error *err) {
    return check(cudaMemsetAsync(memory, 0, bytes, cuda_of(backend)->stream), "clearing", err);
}

int cuda_queue_add(struct backend *backend, float *to, const float *from, size_t count,
                   struct error *err) {
    return check(
        launch_pointwise(cuda_of(backend)->stream, LAUNCH_ADD, DTYPE_F32, to, from, to, count),
        "adding gradients", err);
}

static int set_sgd(struct backend *backend, const struct sgd_step *step, struct error *err) {
    struct cuda *cuda = cuda_of(backend);
    /* Pageable memory: the copy has left STEP when the call returns. */
    return check(cudaMemcpyAsync(&cuda->control->step, step, sizeof(*step), cudaMemcpyHostToDevice,
                                 cuda->stream),
                 "setting the learning rate", err);
}

int cuda_queue_sgd(struct backend *backend, const struct backend_sgd *update, struct error *err) {
    struct cuda *cuda = cuda_of(backend);
    struct sgd_args args = {.weights = update->weights,
                            .momentum = update->momentum,
                            .gradients = update->gradients,
                            .decays = update->decays,
                            .void_flag = update->void_flag,
                            .count = update->count};
    return check(launch_sgd(cuda->stream, cuda->control, &args), "the optimizer", err);
}

const struct backend_device cuda_queue = {
    .queue = queue,
    .record_begin = record_begin,
    .record_end = record_end,
    .replay = replay,
    .forget = forget,
    .alloc_summed = alloc_summed,
    .free_summed = free_summed,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .copy = copy,
    .clear = clear,
    .add = cuda_queue_add,
    .set_sgd = set_sgd,
    .sgd = cuda_queue_sgd,
};
