#include "trainer/backend/cuda/dnn/dnn_plan.h"

#include <stddef.h>

/* From an operation graph to plans that can run: the heuristics list engine configurations, best
 * first (mode A), and a fallback list serves graphs that they do not know. Each configuration is
 * described, filtered by what the query excludes, and finalized for the device. Finalizing is the
 * real test: an engine may be offered and still refuse the graph.
 *
 * A device is either open, with a handle, or described (dnn_device.h). For a described one, engines
 * that compile at run time cannot be finalized; they are counted instead (`needs_driver`), as the
 * real device would have them. */

typedef cudnnBackendDescriptor_t desc_t;

/* The descriptors of plan, engine and configuration are in the plan's own pool. */
static void plan_done(struct dnn_plan *plan) {
    dnn_pool_done(&plan->pool);
    *plan = (struct dnn_plan){0};
}

/* Leaves an empty list, which may be filled again. */
void dnn_plan_list_done(struct dnn_plan_list *list) {
    while (list->count > 0)
        plan_done(&list->plans[--list->count]);
}

/* Returns true if an engine with this note computes with less precision than f32. Tensor cores
 * count because f32 goes through them as TF32. */
static bool loses_bits(cudnnBackendNumericalNote_t note) {
    switch (note) {
    case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
    case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
    case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
    case CUDNN_NUMERICAL_NOTE_FFT:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD:
        return true;
    default:
        return false;
    }
}

/* Reads the engine of PLAN's configuration: its index and properties. An engine may have more notes
 * than NOTES_MAX; cuDNN then returns the first ones. */
static int describe(struct dnn_plan *plan, desc_t config, struct error *err) {
    enum { NOTES_MAX = 16 };
    desc_t engine = NULL;
    if (dnn_new(&plan->pool, CUDNN_BACKEND_ENGINE_DESCRIPTOR, "engine", &engine, err) != 0)
        return -1;
    int64_t got = 0;
    cudnnStatus_t status = cudnnBackendGetAttribute(
        config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &got, &engine);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64,
                                          1, &got, &plan->engine);
    cudnnBackendBehaviorNote_t behaviour[NOTES_MAX];
    int64_t behaviours = 0;
    if (status == CUDNN_STATUS_SUCCESS)
        status =
            cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
                                     CUDNN_TYPE_BEHAVIOR_NOTE, NOTES_MAX, &behaviours, behaviour);
    cudnnBackendNumericalNote_t numerical[NOTES_MAX];
    int64_t numericals = 0;
    if (status == CUDNN_STATUS_SUCCESS)
        status =
            cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                     CUDNN_TYPE_NUMERICAL_NOTE, NOTES_MAX, &numericals, numerical);
    if (status != CUDNN_STATUS_SUCCESS)
        return dnn_error(status, "engine", err);
    for (int64_t i = 0; i < behaviours && i < NOTES_MAX; i++)
        if (behaviour[i] == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION)
            plan->runtime_compiled = true;
    plan->deterministic = true;
    for (int64_t i = 0; i < numericals && i < NOTES_MAX; i++) {
        plan->deterministic &= numerical[i] != CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
        plan->rounds |= loses_bits(numerical[i]);
    }
    return 0;
}

/* Sets the target of PLAN: the handle that will run it, or a device description. The heuristics
 * always take the properties; only the plan needs the handle. */
static int set_target(desc_t plan, const struct dnn_device *device, struct error *err) {
    if (device->handle != NULL)
        return dnn_set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
                       (const void *)&device->handle, err);
    return dnn_set_desc(plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, device->properties, err);
}

/* Makes and finalizes the plan; -1 with the reason if this engine is not usable. ERR may be NULL
 * where a failure only means the next engine. On success PLAN knows its workspace in bytes. */
static int finalize(struct dnn_plan *plan, desc_t config, const struct dnn_device *device,
                    struct error *err) {
    if (dnn_new(&plan->pool, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "plan", &plan->plan, err) !=
            0 ||
        dnn_set_desc(plan->plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config, err) != 0 ||
        set_target(plan->plan, device, err) != 0 || dnn_finalize(plan->plan, "plan", err) != 0)
        return -1;
    int64_t got = 0;
    cudnnStatus_t status =
        cudnnBackendGetAttribute(plan->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                 CUDNN_TYPE_INT64, 1, &got, &plan->workspace);
    return status == CUDNN_STATUS_SUCCESS ? 0 : dnn_error(status, "workspace size", err);
}

/* Queries the heuristics of MODE for configurations; their descriptors belong to POOL. No
 * configuration is not an error: *RET_COUNT is 0 then. */
static int ask(struct dnn_pool *pool, const struct dnn_graph *graph,
               const struct dnn_device *device, cudnnBackendHeurMode_t mode,
               desc_t configs[DNN_PLANS_MAX], int64_t *ret_count, struct error *err) {
    desc_t heuristics = NULL;
    if (dnn_new(pool, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, "heuristics", &heuristics, err) != 0 ||
        dnn_set_desc(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph->graph, err) != 0 ||
        dnn_set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode, err) != 0 ||
        dnn_set_desc(heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device->properties, err) != 0)
        return -1;
    *ret_count = 0;
    if (cudnnBackendFinalize(heuristics) != CUDNN_STATUS_SUCCESS)
        return 0; /* no configuration for this graph on this device */
    for (int i = 0; i < DNN_PLANS_MAX; i++)
        if (dnn_new(pool, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, "configuration", &configs[i], err) !=
            0)
            return -1;
    cudnnStatus_t status =
        cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, DNN_PLANS_MAX, ret_count, configs);
    return status == CUDNN_STATUS_SUCCESS ? 0 : dnn_error(status, "heuristics", err);
}

/* True if PLAN has none of the properties that the query excludes. Asked before finalizing, which
 * may compile for a second. */
static bool wanted(const struct dnn_plan *plan, const struct dnn_plan_query *query) {
    return !(query->precompiled && plan->runtime_compiled) &&
           !(query->deterministic && !plan->deterministic) && !(query->exact && plan->rounds);
}

/* Configurations of plans that are kept move to the plan's pool; all others are freed with POOL. A
 * plan with too large a workspace is dropped after it was finalized, because only then is its size
 * known. Descriptions that fail end the search; engines that do not finalize are passed over. */
static int add_plans(struct dnn_plan_list *list, const struct dnn_graph *graph,
                     const struct dnn_plan_query *query, cudnnBackendHeurMode_t mode,
                     struct error *err) {
    struct dnn_pool pool = {0};
    desc_t configs[DNN_PLANS_MAX];
    int64_t count = 0;
    int result = ask(&pool, graph, query->device, mode, configs, &count, err);
    for (int64_t i = 0; result == 0 && i < count && list->count < query->most; i++) {
        struct dnn_plan plan = {0};
        result = describe(&plan, configs[i], err);
        bool serves = result == 0 && wanted(&plan, query);
        if (serves && finalize(&plan, configs[i], query->device, NULL) == 0 &&
            plan.workspace <= query->workspace_max) {
            dnn_pool_move(&pool, &plan.pool, configs[i]);
            list->plans[list->count++] = plan;
            continue;
        }
        list->needs_driver += serves && plan.runtime_compiled;
        plan_done(&plan);
    }
    dnn_pool_done(&pool);
    return result;
}

/* The fallback list only fills up what mode A leaves of `most`. On failure LIST is empty. For a
 * described device all plans are of precompiled engines. */
int dnn_plan_list_find(struct dnn_plan_list *list, const struct dnn_graph *graph,
                       const struct dnn_plan_query *query, struct error *err) {
    static const cudnnBackendHeurMode_t modes[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK};
    *list = (struct dnn_plan_list){0};
    for (size_t i = 0; i < 2 && list->count < query->most; i++) {
        if (add_plans(list, graph, query, modes[i], err) != 0) {
            dnn_plan_list_done(list);
            return -1;
        }
    }
    return 0;
}

/* Binds the addresses once; running a plan then sends no pointers through the heap again. Such a
 * pack keeps its ids and addresses until it is freed. */
int dnn_pack_init(struct dnn_pack *pack, const int64_t *ids, void *const *addresses, int count,
                  void *workspace, struct error *err) {
    *pack = (struct dnn_pack){0};
    if (dnn_new(&pack->pool, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, "operands", &pack->pack, err) !=
            0 ||
        dnn_set(pack->pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids,
                err) != 0 ||
        dnn_set(pack->pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count,
                (const void *)addresses, err) != 0 ||
        dnn_set(pack->pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
                (const void *)&workspace, err) != 0)
        return -1;
    return dnn_finalize(pack->pack, "operands", err);
}

/* Safe on a zeroed pack, and on one that dnn_pack_init() left half-made. */
void dnn_pack_done(struct dnn_pack *pack) {
    dnn_pool_done(&pack->pool);
    *pack = (struct dnn_pack){0};
}

/* WHAT ran is named by the caller, which knows the operator. */
int dnn_pack_run(const struct dnn_pack *pack, cudnnHandle_t handle, const struct dnn_plan *plan,
                 struct error *err) {
    cudnnStatus_t status = cudnnBackendExecute(handle, plan->plan, pack->pack);
    return status == CUDNN_STATUS_SUCCESS ? 0 : dnn_error(status, "running a plan", err);
}
