#include "graph/program.h"

#include "graph/bind.h"
#include "graph/gradients.h"
#include "graph/rules.h"
#include "graph/sizes.h"

#include <stdlib.h>
#include <string.h>

static void release_bound(struct program *program) {
    if (program->bound == NULL)
        return;
    for (int i = 0; i < program->graph->op_count; i++)
        if (program->bound[i].step.context != NULL)
            program->backend->table->release(program->backend, program->bound[i].step.context);
}

static void free_memory(struct program *program, void *memory, size_t bytes) {
    if (memory != NULL)
        program->backend->table->free(program->backend, memory, bytes);
}

void program_done(struct program *program) {
    release_bound(program);
    free_memory(program, program->arena, program->plan.arena_bytes);
    free_memory(program, program->kept, program->kept_bytes);
    free_memory(program, program->packed, program->packed_bytes);
    plan_done(&program->plan);
    lanes_done(&program->lanes);
    free(program->bound);
    free(program->steps);
    free(program->refresh);
    free(program->buckets);
    free(program->needs);
    free(program->place);
    *program = (struct program){0};
}

/* fuse -> gradients -> fuse -> schedule */
static int rewrite(struct graph *graph, const struct backend *backend, enum fusion fusion,
                   struct error *err) {
    if (graph_finish(graph, err) != 0)
        return -1;
    if (graph_fuse(graph, backend, fusion, err) != 0)
        return -1;
    if (graph->training) {
        if (graph_add_gradients(graph, err) != 0 || graph_fuse(graph, backend, fusion, err) != 0)
            return -1;
        if (fusion >= FUSION_CONV && graph_fuse_convolutions(graph, backend, err) != 0)
            return -1;
    }
    return graph_schedule(graph, err);
}

static int op_error(const struct graph *graph, const struct op *op, struct error *err) {
    char text[SHAPE_TEXT_SIZE] = "";
    if (op->inputs[0] != TENSOR_NONE)
        (void)shape_text(&graph->tensors[op->inputs[0]].shape, text);
    return error_wrap(err, "%s %s %s", op_name(op->kind), op->name, text);
}

static int ask_backend(struct program *program, struct error *err) {
    const struct graph *graph = program->graph;
    struct backend *backend = program->backend;
    program->needs = calloc((size_t)graph->op_count + 1, sizeof(*program->needs));
    if (program->needs == NULL)
        return error_no_memory(err, "the program");
    for (int i = 0; i < graph->op_count; i++) {
        const struct op *op = &graph->ops[i];
        if (!backend->table->supports(backend, graph, op)) {
            (void)error_set(err, EXIT_CODE_CONFIG, "backend %s has no such operator in %s",
                            backend->table->name, dtype_name(graph->dtype));
            return op_error(graph, op, err);
        }
        if (backend->table->query(backend, graph, op, &program->needs[i], err) != 0)
            return op_error(graph, op, err);
    }
    return 0;
}

static int make_plan(struct program *program, bool one_lane, struct error *err) {
    const struct backend_device *device = program->backend->table->device;
    int lanes = device != NULL && device->select != NULL && !one_lane ? LANES : 1;
    if (lanes_make(&program->lanes, program->graph, lanes, err) != 0 ||
        plan_make(&program->plan, program->graph, program->needs, &program->lanes, err) != 0)
        return -1;
#ifndef NDEBUG
    if (plan_check(&program->plan, program->graph, &program->lanes, err) != 0)
        return -1;
#endif
    return 0;
}

/* Memory for the store, if this program lays it out, and for the program. Where it is not enough,
 * the error tells what everything takes. */
static int find_memory(struct program *program, struct error *err) {
    char text[SIZES_TEXT_SIZE];
    bool empty = program->store->slots == NULL;
    if (program_measure(program, err) != 0)
        return -1;
    if ((!empty || store_init(program->store, program->backend, program->graph, err) == 0) &&
        program_allocate(program, err) == 0)
        return 0;
    struct sizes sizes = sizes_of(program);
    sizes_text(&sizes, text, sizeof(text));
    return error_wrap(err, "memory for a batch of this size (%s)", text);
}

int program_compile(struct program *program, struct graph *graph, struct store *store,
                    struct backend *backend, const struct compile_options *options,
                    struct error *err) {
    *program = (struct program){.graph = graph, .store = store, .backend = backend};
    if (rewrite(graph, backend, options->fusion, err) != 0 || ask_backend(program, err) != 0 ||
        make_plan(program, options->one_lane, err) != 0 || find_memory(program, err) != 0 ||
        program_bind(program, err) != 0 ||
        (graph->training && program_make_buckets(program, options->bucket_bytes, err) != 0))
        return error_wrap(err, "compiling");
    return 0;
}

/* --- running ---------------------------------------------------------------------------------- */

/* Where a run has come to. LANE is selected on a device with lanes. */
struct run {
    struct program *program;
    const struct program_hooks *hooks;
    const struct backend_device *device; /* NULL: one lane */
    int lane;
    int bucket; /* the next one */
};

static int select_lane(struct run *r, int lane, struct error *err) {
    if (r->device == NULL || r->lane == lane)
        return 0;
    r->lane = lane;
    return r->device->select(r->program->backend, (enum backend_lane)lane, err);
}

/* Lane TO goes on behind all that lane FROM holds; TO is selected then. */
static int chain_lanes(struct run *r, int from, int to, struct error *err) {
    if (r->device == NULL)
        return 0;
    struct backend *backend = r->program->backend;
    if (select_lane(r, from, err) != 0 || r->device->mark(backend, 0, err) != 0 ||
        select_lane(r, to, err) != 0)
        return -1;
    return r->device->wait(backend, 0, err);
}

static int call_hooks(struct run *r, int step, struct error *err) {
    const struct program *program = r->program;
    if (r->hooks->after_step != NULL && r->hooks->after_step(r->hooks->user, step, err) != 0)
        return op_error(program->graph, &program->graph->ops[step], err);
    for (; r->bucket < program->bucket_count && program->buckets[r->bucket].after <= step;
         r->bucket++) {
        if (r->hooks->bucket_ready == NULL)
            continue;
        if (chain_lanes(r, LANE_MAIN, LANE_SIDE, err) != 0 ||
            r->hooks->bucket_ready(r->hooks->user, r->bucket, err) != 0)
            return -1;
    }
    return 0;
}

static int run_step(struct run *r, int number, struct error *err) {
    struct program *program = r->program;
    const struct lanes *lanes = &program->lanes;
    const struct bound_step *step = &program->steps[number];
    struct backend *backend = program->backend;
    if (select_lane(r, lanes_of(lanes, number), err) != 0 ||
        (r->device != NULL && lanes->wait[number] >= 0 &&
         r->device->wait(backend, lanes->mark[lanes->wait[number]], err) != 0))
        return -1;
    if (step->run(step->context, err) != 0)
        return op_error(program->graph, &program->graph->ops[number], err);
    if (r->device != NULL && lanes->mark[number] >= 0 &&
        r->device->mark(backend, lanes->mark[number], err) != 0)
        return -1;
    return r->hooks != NULL ? call_hooks(r, number, err) : 0;
}

int program_run(struct program *program, const struct program_hooks *hooks, struct error *err) {
    struct run r = {.program = program, .hooks = hooks, .lane = LANE_MAIN};
    if (program->lanes.lane != NULL)
        r.device = program->backend->table->device;
    int result = chain_lanes(&r, LANE_MAIN, LANE_SIDE, err);
    for (int i = 0; result == 0 && i < program->step_count; i++)
        result = run_step(&r, i, err);
    if (result == 0)
        return chain_lanes(&r, LANE_SIDE, LANE_MAIN, err);
    (void)select_lane(&r, LANE_MAIN, NULL);
    return -1;
}

int program_refresh(struct program *program, struct error *err) {
    for (int i = 0; i < program->refresh_count; i++)
        if (program->refresh[i].run(program->refresh[i].context, err) != 0)
            return error_wrap(err, "refreshing weights");
    return 0;
}

void *program_address(const struct program *program, int tensor) {
    if (tensor == TENSOR_NONE || program->place[tensor] == PROGRAM_NO_PLACE)
        return NULL;
    return (char *)program->kept + program->place[tensor];
}

/* The address of the tensor called NAME, whose size has to be BYTES. */
static void *find_kept(const struct program *program, const char *name, size_t bytes,
                       struct error *err) {
    int tensor = graph_find(program->graph, name);
    void *address = program_address(program, tensor);
    if (address == NULL) {
        (void)error_set(err, EXIT_CODE_INTERNAL, "the program has no input or output %s", name);
        return NULL;
    }
    size_t size = tensor_bytes(&program->graph->tensors[tensor]);
    if (size != bytes) {
        (void)error_set(err, EXIT_CODE_INTERNAL, "%s has %zu bytes, not %zu", name, size, bytes);
        return NULL;
    }
    return address;
}

int program_write(struct program *program, const char *name, const void *values, size_t bytes,
                  struct error *err) {
    void *address = find_kept(program, name, bytes, err);
    if (address == NULL)
        return -1;
    return program->backend->table->copy_in(program->backend, address, values, bytes, err);
}

int program_read(struct program *program, const char *name, void *ret_values, size_t bytes,
                 struct error *err) {
    const void *address = find_kept(program, name, bytes, err);
    if (address == NULL)
        return -1;
    return program->backend->table->copy_out(program->backend, ret_values, address, bytes, err);
}

struct op_cost program_cost(const struct program *program) {
    struct op_cost sum = {0};
    for (int i = 0; i < program->graph->op_count; i++) {
        struct op_cost cost = op_cost(program->graph, &program->graph->ops[i]);
        sum.flops += cost.flops;
        sum.bytes += cost.bytes;
    }
    return sum;
}
