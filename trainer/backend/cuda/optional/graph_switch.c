#include "trainer/backend/cuda/optional/graph_switch.h"

#include "trainer/backend/cuda/base/context.h"
#include "trainer/backend/cuda/base/device.h"
#include "trainer/backend/cuda/dnn/convs.h"
#include "trainer/backend/cuda/optional/tuned_gpus.h"

#include <string.h>

/* A recorded step has fixed launches and fixed grids. To let a count that the step itself computes
 * decide how much of an operator runs, the recording gets a conditional node of the switch kind
 * (CUDA Programming Guide, "Conditional Nodes"): ROW_PARTS bodies, of which one runs, chosen by a
 * handle that a small kernel sets (optional/kernels/switch.cu).
 *
 * Bodies are recorded like the rest of a step, from a stream, into graphs that the node owns. While
 * a body is recorded, the backend's selected stream and cuDNN's stream are a separate one; both are
 * set back when it has been recorded. */

#if CUDART_VERSION >= 13000

/* EDGES may be NULL for plain dependencies. On success BODIES are the node's graphs, empty and
 * owned by it. BEHIND are the nodes that come before it, COUNT of them. */
static cudaError_t add_node(cudaGraph_t graph, const cudaGraphNode_t *behind,
                            const cudaGraphEdgeData *edges, size_t count,
                            cudaGraphConditionalHandle handle, cudaGraphNode_t *ret_node,
                            cudaGraph_t bodies[ROW_PARTS]) {
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeConditional};
    params.conditional.handle = handle;
    params.conditional.type = cudaGraphCondTypeSwitch;
    params.conditional.size = ROW_PARTS;
    cudaError_t status = cudaGraphAddNode(ret_node, graph, behind, edges, count, &params);
    if (status == cudaSuccess)
        memcpy(bodies, params.conditional.phGraph_out, ROW_PARTS * sizeof(cudaGraph_t));
    return status;
}

/* Tests whether the driver accepts such a node, on a graph that never runs. The graph is
 * instantiated, too, since a driver may refuse it only then. Nothing of it is left. It is asked
 * once, when the backend is opened with row choice. */
static cudaError_t try_node(void) {
    cudaGraph_t graph = NULL, bodies[ROW_PARTS];
    cudaGraphExec_t ready = NULL;
    cudaGraphNode_t node;
    cudaGraphConditionalHandle handle;
    cudaError_t status = cudaGraphCreate(&graph, 0);
    if (status == cudaSuccess)
        status = cudaGraphConditionalHandleCreate(&handle, graph, 0, cudaGraphCondAssignDefault);
    if (status == cudaSuccess)
        status = add_node(graph, NULL, NULL, 0, handle, &node, bodies);
    if (status == cudaSuccess)
        status = cudaGraphInstantiate(&ready, graph, 0);
    if (ready != NULL)
        (void)cudaGraphExecDestroy(ready);
    if (graph != NULL)
        (void)cudaGraphDestroy(graph);
    return status;
}

/* Adds a node to what STREAM records, after all earlier work; *RET_CAPTURING: it is recording at
 * all. Order: the handle, the kernel that sets it, then the node, which therefore depends on the
 * kernel. The node replaces the stream's dependencies, so that all later work waits for the chosen
 * body. Outside a recording it adds nothing. */
static cudaError_t add_to_recording(cudaStream_t stream, const struct switch_choice *choice,
                                    bool *ret_capturing, cudaGraph_t bodies[ROW_PARTS]) {
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    cudaGraph_t graph = NULL;
    const cudaGraphNode_t *behind = NULL;
    const cudaGraphEdgeData *edges = NULL;
    cudaGraphConditionalHandle handle;
    cudaGraphNode_t node;
    size_t count = 0;
    cudaError_t status = cudaStreamGetCaptureInfo(stream, &capture, NULL, &graph, NULL, NULL, NULL);
    *ret_capturing = capture == cudaStreamCaptureStatusActive;
    if (status != cudaSuccess || !*ret_capturing)
        return status;
    status = cudaGraphConditionalHandleCreate(&handle, graph, 0, cudaGraphCondAssignDefault);
    if (status == cudaSuccess)
        status = launch_switch(stream, handle, choice);
    if (status == cudaSuccess)
        status = cudaStreamGetCaptureInfo(stream, &capture, NULL, &graph, &behind, &edges, &count);
    if (status == cudaSuccess)
        status = add_node(graph, behind, edges, count, handle, &node, bodies);
    if (status == cudaSuccess)
        status = cudaStreamUpdateCaptureDependencies(stream, &node, NULL, 1,
                                                     cudaStreamSetCaptureDependencies);
    return status;
}

/* Enqueues BODY on a separate stream, which records into GRAPH. If the body fails, the recording is
 * ended all the same, since a stream cannot be left capturing, and both streams are set back; the
 * first error is reported. Thread-local capture: CUDA calls of other threads do not disturb it.
 * cuDNN's handle follows the selected stream, in both directions. */
static int record_body(struct cuda *cuda, cudaGraph_t graph, const struct bound_step *body,
                       struct error *err) {
    cudaStream_t stream = cuda->stream;
    cudaGraph_t recorded = NULL;
    cudaError_t status = cudaStreamBeginCaptureToGraph(cuda->bodies, graph, NULL, NULL, 0,
                                                       cudaStreamCaptureModeThreadLocal);
    if (status != cudaSuccess)
        return cuda_error(status, "recording a choice", err);
    cuda->stream = cuda->bodies;
    int result = convs_stream(cuda, err);
    if (result == 0)
        result = body->run(body->context, err);
    status = cudaStreamEndCapture(cuda->bodies, &recorded);
    cuda->stream = stream;
    if (result == 0 && status != cudaSuccess)
        result = cuda_error(status, "recording a choice", err);
    const int restored = convs_stream(cuda, result == 0 ? err : NULL);
    return result == 0 ? restored : result;
}

/* A body that cannot be recorded is an error of the step. */
int cuda_graph_switch_node(struct cuda *cuda, const struct switch_choice *choice,
                           const struct bound_step bodies[ROW_PARTS], struct error *err) {
    cudaGraph_t graphs[ROW_PARTS];
    bool capturing = false;
    cudaError_t status = add_to_recording(cuda->stream, choice, &capturing, graphs);
    if (status != cudaSuccess)
        return cuda_error(status, "recording a choice", err);
    if (!capturing)
        return bodies[ROW_PARTS - 1].run(bodies[ROW_PARTS - 1].context, err);
    for (int i = 0; i < ROW_PARTS; i++)
        if (record_body(cuda, graphs[i], &bodies[i], err) != 0)
            return -1;
    return 0;
}

/* ERR may be NULL if a missing feature is no error. */
static int check_node(struct error *err) {
    cudaError_t status = try_node();
    return status == cudaSuccess ? 0 : cuda_error(status, "--row-choice on: switch nodes", err);
}

#else

/* Such nodes exist in older versions, but with other names; they are not used there. */
static int check_node(struct error *err) {
    return error_set(err, EXIT_CODE_DEVICE, "--row-choice on: built with a CUDA older than 13");
}

/* Computes all rows, as without row choice. */
int cuda_graph_switch_node(struct cuda *cuda, const struct switch_choice *choice,
                           const struct bound_step bodies[ROW_PARTS], struct error *err) {
    (void)cuda;
    (void)choice;
    return bodies[ROW_PARTS - 1].run(bodies[ROW_PARTS - 1].context, err);
}

#endif

/* The name is the driver's, as tuned_gpus.c lists it. Without a list entry `auto` means off. */
int cuda_graph_switch_wanted(enum cuda_own wanted, const char *name, bool deterministic,
                             bool *ret_wanted, struct error *err) {
    *ret_wanted =
        !deterministic && (wanted == CUDA_OWN_ON ||
                           (wanted == CUDA_OWN_AUTO && cuda_tuned_on(CUDA_CHOICE_ROWS, name)));
    if (wanted == CUDA_OWN_ON && deterministic)
        return error_set(err, EXIT_CODE_DEVICE,
                         "--row-choice on: not with --deterministic true, as the first step of a "
                         "run computes all rows");
    return 0;
}

/* *RET_CHOOSE is NULL if rows are not chosen, which is not an error unless it was asked for. `auto`
 * never fails: a driver without such nodes only means that all rows are computed. */
int cuda_graph_switch_choose(enum cuda_own wanted, const char *name, bool deterministic,
                             cuda_switch **ret_choose, struct error *err) {
    bool take = false;
    *ret_choose = NULL;
    if (cuda_graph_switch_wanted(wanted, name, deterministic, &take, err) != 0)
        return -1;
    if (!take)
        return 0;
    if (check_node(wanted == CUDA_OWN_ON ? err : NULL) == 0)
        *ret_choose = cuda_graph_switch_node;
    else if (wanted == CUDA_OWN_ON)
        return -1;
    return 0;
}
