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

/* The table of the backend's functions (graph/backend.h) and its opening; queue.c has the part of
 * the table that concerns streams, copies and the optimizer. Operators are found by kind in
 * operators.c, and their rules are in steps/, dnn/ and optional/.
 *
 * Opening goes from what the user can change to what only a fault can break: the GPU
 * (base/device.c), the choices of optional code, streams and libraries, and cuDNN. simulated_gpu.c
 * uses the same table with another memory and another queue. */

static struct cuda *cuda_of(struct backend *backend) {
    return (struct cuda *)backend;
}

/* Three types of activations, a rule, and two kinds of operators that depend on the GPU: own
 * backward passes, and convolutions, which need cuDNN and a graph of it. A partial operator is
 * judged like a whole one. */
static bool supports(const struct backend *backend, const struct graph *graph,
                     const struct op *op) {
    bool type =
        graph->dtype == DTYPE_F16 || graph->dtype == DTYPE_BF16 || graph->dtype == DTYPE_F32;
    return type && cuda_rule(op->kind) != NULL &&
           cuda_backward_supports((const struct cuda *)backend, graph, op) &&
           convs_support((struct cuda *)backend, graph, op);
}

/* Query and bind of an operator that is not partial; cuda_row_prefix_of calls them for each
 * fraction of rows. */
static int query_one(struct backend *backend, const struct graph *graph, const struct op *op,
                     struct backend_needs *ret_needs, struct error *err) {
    const struct cuda_rule *rule = cuda_rule(op->kind);
    return rule->query != NULL ? rule->query(cuda_of(backend), graph, op, ret_needs, err) : 0;
}

/* supports() was asked before, so the kind has a rule. */
static int bind_one(struct backend *backend, const struct graph *graph, const struct op *op,
                    const struct op_addresses *addresses, struct backend_bound *ret_bound,
                    struct error *err) {
    return cuda_rule(op->kind)->bind(cuda_of(backend), graph, op, addresses, ret_bound, err);
}

/* The end of a refresh of all weights: launches the folds that their steps have put off
 * (folds_add). */
static int refreshed(struct backend *backend, struct error *err) {
    return folds_launch(cuda_of(backend), err);
}

/* Contexts begin with a struct cuda_step, whichever rule made them. */
static void release(struct backend *backend, void *context) {
    (void)backend;
    cuda_step_free(context);
}

/* What optional/row_prefix.c needs of an operator that is not partial itself. */
static const struct cuda_row_prefix_of one = {supports, query_one, bind_one, release};

/* Partial operators are queried for every fraction of their rows and need the most of them. */
static int query(struct backend *backend, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    return cuda_row_prefix_has(cuda_of(backend), &one, graph, op)
               ? cuda_row_prefix_query(cuda_of(backend), &one, graph, op, ret_needs, err)
               : query_one(backend, graph, op, ret_needs, err);
}

/* The same question as in query(): both must take the same way. */
static int bind(struct backend *backend, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    return cuda_row_prefix_has(cuda_of(backend), &one, graph, op)
               ? cuda_row_prefix_bind(cuda_of(backend), &one, graph, op, addresses, ret_bound, err)
               : bind_one(backend, graph, op, addresses, ret_bound, err);
}

/* Zeroed by the selected stream, in which all later uses are enqueued after it. On failure ERR has
 * CUDA's reason and the memory that is left. It is freed by free_memory(), whatever it holds. */
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

/* cudaFree waits for the device, so no pending work uses the memory. */
static void free_memory(struct backend *backend, void *memory, size_t bytes) {
    (void)backend;
    (void)bytes;
    (void)cudaFree(memory);
}

/* An error of a kernel appears at the next wait, which may be this one, and names no operator. The
 * message therefore names the option that makes every operator wait. */
static int sync(struct backend *backend, struct error *err) {
    cudaError_t status = cudaStreamSynchronize(cuda_of(backend)->stream);
    return status == cudaSuccess ? 0
                                 : cuda_error(status,
                                              "running a step (--check-operators true tells which "
                                              "operator)",
                                              err);
}

/* Blocking, for the few values that are copied outside a step; steps copy by queue.c. */
static int copy(struct backend *backend, void *to, const void *from, size_t bytes,
                enum cudaMemcpyKind kind, struct error *err) {
    cudaError_t status = cudaMemcpyAsync(to, from, bytes, kind, cuda_of(backend)->stream);
    return status == cudaSuccess ? sync(backend, err) : cuda_error(status, "copying", err);
}

/* HOST may be freed as soon as the call returns. */
static int copy_in(struct backend *backend, void *device, const void *host, size_t bytes,
                   struct error *err) {
    return copy(backend, device, host, bytes, cudaMemcpyHostToDevice, err);
}

/* Waits for all earlier work of the selected stream, so HOST is complete afterwards. */
static int copy_out(struct backend *backend, void *host, const void *device, size_t bytes,
                    struct error *err) {
    return copy(backend, host, device, bytes, cudaMemcpyDeviceToHost, err);
}

/* The GPU's name, its compute capability and the versions of the libraries, made by cuda_open(). */
static const char *describe(const struct backend *backend) {
    return ((const struct cuda *)backend)->description;
}

/* Safe on a half-opened backend. The libraries go first, as they use the streams. */
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

/* Also the start of a simulated GPU's table. */
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

/* The text is static: the program's versions do not change. CUDART_VERSION is that of the headers
 * with which this was compiled. */
const char *cuda_build_text(void) {
    static char text[64];
    char version[16];
    cuda_version_text(CUDART_VERSION, version);
    snprintf(text, sizeof(text), "CUDA %s, %s", version, convs_text());
    return text;
}

/* `control` is the optimizer's state on the device (kernels/launch.h). The stream for bodies exists
 * only with row choice. A dynamic loss scale starts with the user's value. */
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

/* For app/device/locality.c: the process moves to the cores near the GPU before it opens it.
 * ADDRESS has room for "0000:0A:00.0" and its end. */
int cuda_address(const struct cuda_options *options, char address[16], struct error *err) {
    int ordinal = 0;
    if (cuda_device_find(options, &ordinal, err) != 0)
        return -1;
    cudaError_t status = cudaDeviceGetPCIBusId(address, 16, ordinal);
    return status == cudaSuccess ? 0 : cuda_error(status, "asking for the GPU's place", err);
}

/* Options for which this GPU cannot do what was asked are errors; `auto` never is. launch_overlap()
 * is a switch of the whole process and is set last, when opening can no longer fail. *RET is set
 * only on success. */
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
