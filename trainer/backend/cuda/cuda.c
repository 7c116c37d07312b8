#include "trainer/backend/cuda/cuda.h"

#include "trainer/backend/cuda/base/context.h"
#include "trainer/backend/cuda/base/device.h"
#include "trainer/backend/cuda/dnn/convs.h"
#include "trainer/backend/cuda/operators.h"
#include "trainer/backend/cuda/optional/backward.h"
#include "trainer/backend/cuda/optional/graph_switch.h"
#include "trainer/backend/cuda/optional/row_prefix.h"
#include "trainer/backend/cuda/optional/tuned_gpus.h"
#include "trainer/backend/cuda/queue.h"

#include <stdio.h>
#include <stdlib.h>

static struct cuda *cuda_of(struct backend *backend) {
    return (struct cuda *)backend;
}

static bool supports(const struct backend *backend, const struct graph *graph,
                     const struct op *op) {
    bool type =
        graph->dtype == DTYPE_F16 || graph->dtype == DTYPE_BF16 || graph->dtype == DTYPE_F32;
    return type && cuda_rule(op->kind) != NULL &&
           cuda_backward_supports((const struct cuda *)backend, graph, op) &&
           convs_support((struct cuda *)backend, graph, op);
}

static int query_one(struct backend *backend, const struct graph *graph, const struct op *op,
                     struct backend_needs *ret_needs, struct error *err) {
    const struct cuda_rule *rule = cuda_rule(op->kind);
    return rule->query != NULL ? rule->query(cuda_of(backend), graph, op, ret_needs, err) : 0;
}

static int bind_one(struct backend *backend, const struct graph *graph, const struct op *op,
                    const struct op_addresses *addresses, struct backend_bound *ret_bound,
                    struct error *err) {
    return cuda_rule(op->kind)->bind(cuda_of(backend), graph, op, addresses, ret_bound, err);
}

static int refreshed(struct backend *backend, struct error *err) {
    return folds_launch(cuda_of(backend), err);
}

static void release(struct backend *backend, void *context) {
    (void)backend;
    cuda_step_free(context);
}

static const struct cuda_row_prefix_of one = {supports, query_one, bind_one, release};

static int query(struct backend *backend, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    return cuda_row_prefix_has(cuda_of(backend), &one, graph, op)
               ? cuda_row_prefix_query(cuda_of(backend), &one, graph, op, ret_needs, err)
               : query_one(backend, graph, op, ret_needs, err);
}

static int bind(struct backend *backend, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    return cuda_row_prefix_has(cuda_of(backend), &one, graph, op)
               ? cuda_row_prefix_bind(cuda_of(backend), &one, graph, op, addresses, ret_bound, err)
               : bind_one(backend, graph, op, addresses, ret_bound, err);
}

static void *alloc(struct backend *backend, size_t bytes, struct error *err) {
    void *memory = NULL;
    cudaError_t status = cudaMalloc(&memory, bytes);
    if (status == cudaSuccess)
        status = cudaMemsetAsync(memory, 0, bytes, cuda_of(backend)->stream);
    if (status == cudaSuccess)
        return memory;
    (void)cuda_error(status, "memory", err);
    (void)cuda_memory_error(bytes, err);
    if (memory != NULL)
        (void)cudaFree(memory);
    return NULL;
}

static void free_memory(struct backend *backend, void *memory, size_t bytes) {
    (void)backend;
    (void)bytes;
    (void)cudaFree(memory);
}

static int sync(struct backend *backend, struct error *err) {
    cudaError_t status = cudaStreamSynchronize(cuda_of(backend)->stream);
    return status == cudaSuccess ? 0
                                 : cuda_error(status,
                                              "running a step (--check-operators true tells which "
                                              "operator)",
                                              err);
}

static int copy(struct backend *backend, void *to, const void *from, size_t bytes,
                enum cudaMemcpyKind kind, struct error *err) {
    cudaError_t status = cudaMemcpyAsync(to, from, bytes, kind, cuda_of(backend)->stream);
    return status == cudaSuccess ? sync(backend, err) : cuda_error(status, "copying", err);
}

static int copy_in(struct backend *backend, void *device, const void *host, size_t bytes,
                   struct error *err) {
    return copy(backend, device, host, bytes, cudaMemcpyHostToDevice, err);
}

static int copy_out(struct backend *backend, void *host, const void *device, size_t bytes,
                    struct error *err) {
    return copy(backend, host, device, bytes, cudaMemcpyDeviceToHost, err);
}

static const char *describe(const struct backend *backend) {
    return ((const struct cuda *)backend)->description;
}

/* Safe on a half-opened backend. */
static void close_backend(struct backend *backend) {
    struct cuda *cuda = cuda_of(backend);
    convs_close(cuda->convs);
    if (cuda->lt != NULL)
        (void)cublasLtDestroy(cuda->lt);
    if (cuda->control != NULL)
        (void)cudaFree(cuda->control);
    if (cuda->bodies != NULL)
        (void)cudaStreamDestroy(cuda->bodies);
    cuda_queue_close(cuda);
    free(cuda);
}

const struct backend_table cuda_table = {
    .name = "cuda",
    .device = &cuda_queue,
    .supports = supports,
    .query = query,
    .bind = bind,
    .refreshed = refreshed,
    .release = release,
    .alloc = alloc,
    .free = free_memory,
    .copy_in = copy_in,
    .copy_out = copy_out,
    .sync = sync,
    .describe = describe,
    .close = close_backend,
};

const char *cuda_build_text(void) {
    static char text[64];
    char version[16];
    cuda_version_text(CUDART_VERSION, version);
    snprintf(text, sizeof(text), "CUDA %s, %s", version, convs_text());
    return text;
}

static int open_libraries(struct cuda *cuda, struct error *err) {
    if (cuda_queue_open(cuda, err) != 0)
        return -1;
    cudaError_t status = cudaMalloc((void **)&cuda->control, sizeof(*cuda->control));
    if (status != cudaSuccess)
        return cuda_error(status, "opening the GPU", err);
    if (cuda->choose != NULL)
        status = cudaStreamCreateWithFlags(&cuda->bodies, cudaStreamNonBlocking);
    if (status != cudaSuccess)
        return cuda_error(status, "opening the GPU", err);
    cublasStatus_t lt = cublasLtCreate(&cuda->lt);
    if (lt != CUBLAS_STATUS_SUCCESS)
        return error_set(err, EXIT_CODE_DEVICE, "cuBLASLt: opening: %s",
                         cublasLtGetStatusString(lt));
    struct control control = {.state = {.finite = 1, .loss_scale = cuda->options.loss_scale},
                              .growth_interval = cuda->options.growth_interval};
    return copy_in(&cuda->base, cuda->control, &control, sizeof(control), err);
}

int cuda_address(const struct cuda_options *options, char address[16], struct error *err) {
    int ordinal = 0;
    if (cuda_device_find(options, &ordinal, err) != 0)
        return -1;
    cudaError_t status = cudaDeviceGetPCIBusId(address, 16, ordinal);
    return status == cudaSuccess ? 0 : cuda_error(status, "asking for the GPU's place", err);
}

int cuda_open(struct backend **ret, const struct cuda_options *options, struct error *err) {
    struct cudaDeviceProp properties;
    int ordinal = 0;
    if (cuda_device_find(options, &ordinal, err) != 0 ||
        cuda_device_open(ordinal, &properties, err) != 0)
        return -1;
    struct cuda *cuda = calloc(1, sizeof(*cuda));
    if (cuda == NULL)
        return error_no_memory(err, "CUDA backend");
    cuda->base.table = &cuda_table;
    cuda->options = *options;
    cuda->ordinal = ordinal;
    cuda->multiprocessors = properties.multiProcessorCount;
    snprintf(cuda->description, sizeof(cuda->description), "%.128s (sm_%d%d), %s", properties.name,
             properties.major, properties.minor, cuda_build_text());
    bool overlap = false;
    if (cuda_overlap_choose(options->overlap, properties.name, properties.major, &overlap, err) !=
            0 ||
        cuda_backward_choose(options->own_backward, properties.name, properties.major,
                             properties.minor, &cuda->own_backward, err) != 0 ||
        cuda_graph_switch_choose(options->row_choice, properties.name, options->deterministic,
                                 &cuda->choose, err) != 0 ||
        open_libraries(cuda, err) != 0 || convs_open(cuda, properties.name, err) != 0) {
        close_backend(&cuda->base);
        return -1;
    }
    launch_overlap(overlap);
    *ret = &cuda->base;
    return 0;
}
