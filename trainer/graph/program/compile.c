/* Passes of a compile, for programs that share a store and memory. */
#include "trainer/graph/gradient/backward.h"
#include "trainer/graph/program/bind.h"
#include "trainer/graph/program/sizes.h"
#include "trainer/graph/schedule.h"

#include <stdlib.h>

/* Lets weight gradients that the device's products make in the type of activations stay in that
 * type. */
static void half_gradients(struct graph *graph, const struct backend *backend) {
    const struct backend_device *device = backend->table->device;
    if (device == NULL || device->half_gradient == NULL)
        return;
    for (int i = 0; i < graph->op_count; i++) {
        int slot = device->half_gradient(backend, graph, &graph->ops[i]);
        int output = slot < 0 ? TENSOR_NONE : graph->ops[i].outputs[slot];
        if (output != TENSOR_NONE && graph->tensors[output].role == TENSOR_GRADIENT)
            graph->tensors[output].dtype = graph->dtype;
    }
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
        half_gradients(graph, backend);
    }
    return graph_schedule(graph, err);
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
            (void)error_set(err, EXIT_CODE_CONFIG, "backend %s has no such operator for %s",
                            backend->table->name, dtype_name(graph->dtype));
            return program_op_error(graph, op, err);
        }
        if (backend->table->query(backend, graph, op, &program->needs[i], err) != 0)
            return program_op_error(graph, op, err);
    }
    return 0;
}

static int make_plan(struct program *program, bool one_stream, struct error *err) {
    const struct backend_device *device = program->backend->table->device;
    int streams = device != NULL && device->select != NULL && !one_stream ? STREAMS : 1;
    if (streams_make(&program->streams, program->graph, streams, err) != 0 ||
        plan_make(&program->plan, program->graph, program->needs, &program->streams, err) != 0)
        return -1;
#ifndef NDEBUG
    if (plan_check(&program->plan, program->graph, &program->streams, err) != 0)
        return -1;
#endif
    return 0;
}

/* From a built graph to a plan of its memory. */
static int prepare(struct program *program, const struct compile_options *options,
                   struct error *err) {
    if (rewrite(program->graph, program->backend, options->fusion, err) != 0 ||
        ask_backend(program, err) != 0 || make_plan(program, options->one_stream, err) != 0)
        return -1;
    return program_measure(program, err);
}

static void make_room(struct program_memory *memory, const struct program *program) {
    if (program->plan.arena_bytes > memory->arena_bytes)
        memory->arena_bytes = program->plan.arena_bytes;
    if (program->kept_bytes > memory->kept_bytes)
        memory->kept_bytes = program->kept_bytes;
    if (program->packed_bytes > memory->packed_bytes)
        memory->packed_bytes = program->packed_bytes;
}

static int allocate(struct program *program, struct program_memory *memory, bool with_store,
                    struct error *err) {
    if (with_store && store_allocate(program->store, program->graph, err) != 0)
        return -1;
    return program_allocate(memory, err);
}

/* Allocates memory for the store, if PROGRAM lays it out, and for programs. If that fails, the
 * error lists all sizes. */
static int find_memory(struct program *program, struct program_memory *memory,
                       const struct compile_memory *ask, struct error *err) {
    char text[SIZES_TEXT_SIZE];
    bool empty = program->store->slots == NULL;
    if (empty && store_lay_out(program->store, program->backend, program->graph, err) != 0)
        return -1;
    struct sizes sizes = sizes_of(program);
    if (ask->check != NULL && ask->check(ask->user, &sizes, err) != 0)
        return -1;
    if (allocate(program, memory, empty, err) == 0)
        return 0;
    sizes = sizes_of(program);
    sizes_text(&sizes, text, sizeof(text));
    return error_wrap(err, "memory for a batch of this size (%s)", text);
}

static int finish(struct program *program, const struct compile_options *options,
                  struct error *err) {
    if (program_bind(program, err) != 0)
        return -1;
    return program->graph->training ? program_make_buckets(program, options->bucket_bytes, err) : 0;
}

int programs_compile(struct program *const *programs, struct graph *const *graphs, int count,
                     struct program_memory *memory, struct store *store, struct backend *backend,
                     const struct compile_options *options, struct error *err) {
    for (int i = 0; i < count; i++)
        *programs[i] = (struct program){
            .graph = graphs[i], .store = store, .backend = backend, .memory = memory};
    memory->backend = backend;
    for (int i = 0; i < count; i++) {
        if (prepare(programs[i], options, err) != 0)
            return error_wrap(err, "compiling");
        make_room(memory, programs[i]);
    }
    if (find_memory(programs[0], memory, &options->memory, err) != 0)
        return error_wrap(err, "compiling");
    for (int i = 0; i < count; i++)
        if (finish(programs[i], options, err) != 0)
            return error_wrap(err, "compiling");
    return 0;
}

int program_compile(struct program *program, struct graph *graph, struct store *store,
                    struct backend *backend, const struct compile_options *options,
                    struct error *err) {
    return programs_compile(&program, &graph, 1, &program->own, store, backend, options, err);
}
