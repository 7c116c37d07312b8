#include "trainer/graph/program/program.h"

#include "trainer/graph/rules/op_table.h"

#include <stdlib.h>
#include <string.h>

/* A step is a walk over bound steps (program_run). On a device with streams it only enqueues work:
 * the waits and events that streams.c has chosen order the streams, and nothing here waits for the
 * device. On ref and cpu each step is computed by its call.
 *
 * Two copies of the weights may be stale when a step begins: those in half precision, and those
 * that operators have packed in the backend's own layout. Both are brought up to date first, by the
 * store's version, so that code that changes a parameter need not know which programs read it. */

/* Also after a failed compile: operators that were not bound have no context. */
static void release_bound(struct program *program) {
    if (program->bound == NULL)
        return;
    for (int i = 0; i < program->graph->op_count; i++)
        if (program->bound[i].step.context != NULL)
            program->backend->table->release(program->backend, program->bound[i].step.context);
}

/* Frees with the size, for backends that keep account of memory. */
static void free_memory(const struct program_memory *memory, void *part, size_t bytes) {
    if (part != NULL)
        memory->backend->table->free(memory->backend, part, bytes);
}

/* Programs come first: their bound steps may refer to this memory. */
void program_memory_done(struct program_memory *memory) {
    free_memory(memory, memory->arena, memory->arena_bytes);
    free_memory(memory, memory->kept, memory->kept_bytes);
    free_memory(memory, memory->packed, memory->packed_bytes);
    *memory = (struct program_memory){0};
}

void program_done(struct program *program) {
    release_bound(program);
    program_memory_done(&program->own);
    plan_done(&program->plan);
    streams_done(&program->streams);
    free(program->bound);
    free(program->steps);
    free(program->refresh);
    free(program->buckets);
    free(program->needs);
    free(program->place);
    *program = (struct program){0};
}

/* The shape of the first input tells apart operators that share a name, such as a head on several
 * levels. */
int program_op_error(const struct graph *graph, const struct op *op, struct error *err) {
    char text[SHAPE_TEXT_SIZE] = "";
    if (op->inputs[0] != TENSOR_NONE)
        (void)shape_text(&graph->tensors[op->inputs[0]].shape, text);
    return error_wrap(err, "%s %s %s", op_name(op->kind), op->name, text);
}

/* --- running ---------------------------------------------------------------------------------- */

/* State of a run. STREAM is selected on a device with streams. */
struct run {
    struct program *program;
    const struct program_hooks *hooks;
    const struct backend_device *device; /* NULL: a single stream */
    int stream;
    int bucket; /* the next one */
};

/* Selects the stream for all device calls that follow; a call to the device only if it changes. */
static int select_stream(struct run *r, int stream, struct error *err) {
    if (r->device == NULL || r->stream == stream)
        return 0;
    r->stream = stream;
    return r->device->select(r->program->backend, (enum backend_stream)stream, err);
}

/* Makes stream TO wait for all work in stream FROM, and selects TO. Event 0 serves every time, as
 * its wait is enqueued before it is recorded anew. */
static int chain_streams(struct run *r, int from, int to, struct error *err) {
    if (r->device == NULL)
        return 0;
    struct backend *backend = r->program->backend;
    if (select_stream(r, from, err) != 0 || r->device->event(backend, 0, err) != 0 ||
        select_stream(r, to, err) != 0)
        return -1;
    return r->device->wait(backend, 0, err);
}

/* Calls the hooks after STEP. Buckets come in order, each once its last gradient has been enqueued.
 * They are handed to the side stream, which waits for the main one, so that the sums over ranks run
 * beside the rest of the backward pass. */
static int call_hooks(struct run *r, int step, struct error *err) {
    const struct program *program = r->program;
    if (r->hooks->after_step != NULL && r->hooks->after_step(r->hooks->user, step, err) != 0)
        return program_op_error(program->graph, &program->graph->ops[step], err);
    for (; r->bucket < program->bucket_count && program->buckets[r->bucket].after <= step;
         r->bucket++) {
        if (r->hooks->bucket_ready == NULL)
            continue;
        if (chain_streams(r, STREAM_MAIN, STREAM_SIDE, err) != 0 ||
            r->hooks->bucket_ready(r->hooks->user, r->bucket, err) != 0)
            return -1;
    }
    return 0;
}

/* Runs one step on its stream: after the event that it waits for, and before the one that is
 * recorded for others. */
static int run_step(struct run *r, int number, struct error *err) {
    struct program *program = r->program;
    const struct streams *streams = &program->streams;
    const struct bound_step *step = &program->steps[number];
    struct backend *backend = program->backend;
    if (select_stream(r, streams_of(streams, number), err) != 0 ||
        (r->device != NULL && streams->wait[number] >= 0 &&
         r->device->wait(backend, streams->event[streams->wait[number]], err) != 0))
        return -1;
    if (step->run(step->context, err) != 0)
        return program_op_error(program->graph, &program->graph->ops[number], err);
    if (r->device != NULL && streams->event[number] >= 0 &&
        r->device->event(backend, streams->event[number], err) != 0)
        return -1;
    return r->hooks != NULL ? call_hooks(r, number, err) : 0;
}

/* The side stream begins after all earlier work, and the main stream ends after all of the side
 * stream's. After a failure the main stream is selected again, as all code outside a step
 * expects. */
int program_run(struct program *program, const struct program_hooks *hooks, struct error *err) {
    struct run r = {.program = program, .hooks = hooks, .stream = STREAM_MAIN};
    if (store_refresh_half(program->store, err) != 0 ||
        (program_stale(program) && program_refresh(program, err) != 0))
        return -1;
    if (program->streams.stream != NULL)
        r.device = program->backend->table->device;
    int result = chain_streams(&r, STREAM_MAIN, STREAM_SIDE, err);
    for (int i = 0; result == 0 && i < program->step_count; i++)
        result = run_step(&r, i, err);
    if (result == 0)
        result = chain_streams(&r, STREAM_SIDE, STREAM_MAIN, err);
    if (result != 0)
        (void)select_stream(&r, STREAM_MAIN, NULL);
    return result;
}

/* Programs share the memory of packed weights, so what another one has packed there counts as
 * stale. */
bool program_stale(const struct program *program) {
    const struct program_memory *memory = program->memory;
    return program->refresh_count > 0 &&
           (memory->packed_by != program || memory->packed_version != program->store->version);
}

void program_refreshed(struct program *program) {
    program->memory->packed_by = program;
    program->memory->packed_version = program->store->version;
}

/* Refresh steps may postpone work, which `refreshed` does for all of them together (backend.h). On
 * failure the weights count as stale still. */
int program_refresh(struct program *program, struct error *err) {
    for (int i = 0; i < program->refresh_count; i++)
        if (program->refresh[i].run(program->refresh[i].context, err) != 0)
            return error_wrap(err, "refreshing weights");
    struct backend *backend = program->backend;
    if (backend->table->refreshed != NULL && backend->table->refreshed(backend, err) != 0)
        return error_wrap(err, "refreshing weights");
    program_refreshed(program);
    return 0;
}

/* NULL for a tensor that is neither input nor output. */
void *program_address(const struct program *program, int tensor) {
    if (tensor == TENSOR_NONE || program->place[tensor] == PROGRAM_NO_PLACE)
        return NULL;
    return (char *)program->memory->kept + program->place[tensor];
}

/* Returns the address of the tensor NAME, which must have BYTES bytes; NULL with an error. A wrong
 * size is a fault of the caller, which must know the shape. */
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

/* Sums over the operators as they are after fusion, which has fewer bytes than the model's own. */
struct op_cost program_cost(const struct program *program) {
    struct op_cost sum = {0};
    for (int i = 0; i < program->graph->op_count; i++) {
        struct op_cost cost = op_cost(program->graph, &program->graph->ops[i]);
        sum.flops += cost.flops;
        sum.bytes += cost.bytes;
    }
    return sum;
}
