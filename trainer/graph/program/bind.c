#include "trainer/graph/program/bind.h"

#include "common/cleanup.h"

#include <stdlib.h>

/* The order is that of programs_compile (compile.c): each program is measured, the memory is
 * allocated once for the largest of them, then each is bound. Binding turns tensor numbers into
 * addresses and operators into calls, so that a step looks nothing up.
 *
 * Addresses come from three places: activations from the arena, by the plan; inputs and outputs
 * from the kept memory; parameters, their gradients, states and constants from the store, by name.
 * Names connect the programs that share a store: a training and an evaluation number their tensors
 * differently. */

/* Allocates device memory for one purpose; nothing for 0 bytes. *RET stays NULL on failure. */
static int allocate(const struct program_memory *memory, void **ret, size_t bytes, const char *what,
                    struct error *err) {
    if (bytes == 0)
        return 0;
    *ret = memory->backend->table->alloc(memory->backend, bytes, err);
    return *ret == NULL ? error_wrap(err, "%zu bytes for %s", bytes, what) : 0;
}

/* Offsets are those of kept memory, aligned like blocks of the plan. Packed weights lie in the
 * order of operators, which program_bind repeats. */
int program_measure(struct program *program, struct error *err) {
    const struct graph *graph = program->graph;
    program->place = calloc((size_t)graph->tensor_count + 1, sizeof(*program->place));
    if (program->place == NULL)
        return error_no_memory(err, "the program");
    for (int i = 0; i < graph->tensor_count; i++) {
        const struct tensor *tensor = &graph->tensors[i];
        program->place[i] = PROGRAM_NO_PLACE;
        if (tensor->role != TENSOR_INPUT && tensor->role != TENSOR_OUTPUT)
            continue;
        program->place[i] = program->kept_bytes;
        program->kept_bytes += plan_aligned(tensor_bytes(tensor));
    }
    for (int i = 0; i < graph->op_count; i++)
        program->packed_bytes += plan_aligned(program->needs[i].packed);
    return 0;
}

int program_allocate(struct program_memory *m, struct error *err) {
    if (allocate(m, &m->arena, m->arena_bytes, "activations", err) != 0 ||
        allocate(m, &m->kept, m->kept_bytes, "inputs and outputs", err) != 0)
        return -1;
    return allocate(m, &m->packed, m->packed_bytes, "packed weights", err);
}

/* Returns where the store has tensor NUMBER: its values, or the gradient of its parameter; NULL
 * with an error. A different shape is an error of the configuration, as the network that laid the
 * store out was another one. The type of a gradient belongs to the store's slot, so all programs
 * must agree on it. */
static void *stored_address(const struct program *program, int number, struct error *err) {
    const struct graph *graph = program->graph;
    const struct tensor *tensor = &graph->tensors[number];
    bool gradient = tensor->role == TENSOR_GRADIENT;
    const struct tensor *owner = gradient ? &graph->tensors[tensor->parameter] : tensor;
    const struct store_slot *slot = store_find(program->store, owner->name);
    if (slot == NULL) {
        (void)error_set(err, EXIT_CODE_INTERNAL, "the store has no %s", owner->name);
        return NULL;
    }
    if (!shape_equal(&slot->shape, &owner->shape)) {
        char is[SHAPE_TEXT_SIZE], wanted[SHAPE_TEXT_SIZE];
        (void)error_set(err, EXIT_CODE_CONFIG, "%s is %s in the store, expected %s", owner->name,
                        shape_text(&slot->shape, is), shape_text(&owner->shape, wanted));
        return NULL;
    }
    /* The type of a gradient is a property of the store's slot, so all programs must agree on
     * it. */
    if (gradient && slot->half_gradient != (dtype_size(tensor->dtype) < dtype_size(owner->dtype))) {
        (void)error_set(err, EXIT_CODE_INTERNAL, "programs make gradients of %s in two types",
                        owner->name);
        return NULL;
    }
    void *address = gradient ? store_gradient_at(program->store, slot)
                             : store_at(program->store, slot, slot->home);
    if (address == NULL)
        (void)error_set(err, EXIT_CODE_INTERNAL, "the store keeps no values of kind %d for %s",
                        gradient ? (int)STORE_GRADIENTS : (int)slot->home, owner->name);
    return address;
}

/* Fills ADDRESSES, one per tensor; NULL for tensors that no operator uses, such as those that
 * fusion has left over. Roles without a case would be a warning of the compiler. */
static int resolve_addresses(const struct program *program, void **addresses, struct error *err) {
    const struct graph *graph = program->graph;
    for (int i = 0; i < graph->tensor_count; i++) {
        switch (graph->tensors[i].role) {
        case TENSOR_ACTIVATION: {
            int block = program->plan.tensor_block[i];
            if (block >= 0)
                addresses[i] = (char *)program->memory->arena + program->plan.blocks[block].offset;
            break;
        }
        case TENSOR_INPUT:
        case TENSOR_OUTPUT:
            addresses[i] = program_address(program, i);
            break;
        case TENSOR_GRADIENT:
        case TENSOR_PARAMETER:
        case TENSOR_STATE:
        case TENSOR_CONSTANT:
            addresses[i] = stored_address(program, i, err);
            if (addresses[i] == NULL)
                return -1;
            break;
        }
    }
    return 0;
}

/* Returns the address of a block of the arena, or NULL for none. */
static void *block_address(const struct program *program, int block) {
    return block < 0 ? NULL : (char *)program->memory->arena + program->plan.blocks[block].offset;
}

/* Binds operator NUMBER. A gradient reads what its forward operator has saved, so both have the
 * block of that one. */
static int bind_one(struct program *program, int number, void *const *addresses, char *packed,
                    struct error *err) {
    const struct op *op = &program->graph->ops[number];
    void *inputs[OP_INPUTS_MAX] = {0}, *outputs[OP_OUTPUTS_MAX] = {0};
    for (int i = 0; i < OP_INPUTS_MAX; i++)
        if (op->inputs[i] != TENSOR_NONE)
            inputs[i] = addresses[op->inputs[i]];
    for (int i = 0; i < OP_OUTPUTS_MAX; i++)
        if (op->outputs[i] != TENSOR_NONE)
            outputs[i] = addresses[op->outputs[i]];
    int saver = op->forward >= 0 ? op->forward : number;
    struct op_addresses own = {.inputs = inputs,
                               .outputs = outputs,
                               .scratch =
                                   block_address(program, program->plan.scratch_block[number]),
                               .saved = block_address(program, program->plan.saved_block[saver]),
                               .packed = program->needs[number].packed == 0 ? NULL : packed,
                               .rows = op->rows == TENSOR_NONE ? NULL : addresses[op->rows],
                               .half_copy = program->store->half_copy};
    struct backend_bound *bound = &program->bound[number];
    if (program->backend->table->bind(program->backend, program->graph, op, &own, bound, err) != 0)
        return error_wrap(err, "%s %s", op_name(op->kind), op->name);
    program->steps[program->step_count++] = bound->step;
    return 0;
}

/* Returns true if operators I and K both pack weights, and the same ones: operators with weights
 * read them at input 1. */
static bool pack_the_same(const struct program *program, int i, int k) {
    return program->bound[i].refresh.run != NULL && program->bound[k].refresh.run != NULL &&
           program->graph->ops[i].inputs[1] == program->graph->ops[k].inputs[1];
}

/* Lists refresh steps in the order of operators, except that those that pack the same weights
 * follow each other: the later ones find them in the caches. An operator is listed with the first
 * one of its weights. */
static void collect_refresh(struct program *program) {
    for (int i = 0; i < program->graph->op_count; i++) {
        int first = 0;
        while (first < i && !pack_the_same(program, first, i))
            first++;
        for (int k = i; first == i && k < program->graph->op_count; k++)
            if (pack_the_same(program, i, k))
                program->refresh[program->refresh_count++] = program->bound[k].refresh;
    }
}

/* Binds all operators, in order. What is bound so far is released by program_done, also after a
 * failure. Arrays of addresses are needed only here: backends copy what they use. */
int program_bind(struct program *program, struct error *err) {
    const struct graph *graph = program->graph;
    size_t count = (size_t)graph->op_count + 1;
    cleanup_free void **addresses = calloc((size_t)graph->tensor_count + 1, sizeof(*addresses));
    program->bound = calloc(count, sizeof(*program->bound));
    program->steps = calloc(count, sizeof(*program->steps));
    program->refresh = calloc(count, sizeof(*program->refresh));
    if (addresses == NULL || program->bound == NULL || program->steps == NULL ||
        program->refresh == NULL)
        return error_no_memory(err, "the program");
    if (resolve_addresses(program, addresses, err) != 0)
        return -1;
    char *packed = program->memory->packed;
    for (int i = 0; i < graph->op_count; i++) {
        if (bind_one(program, i, addresses, packed, err) != 0)
            return -1;
        if (packed != NULL)
            packed += plan_aligned(program->needs[i].packed);
    }
    collect_refresh(program);
    /* A backend that times plans on the real buffers may have overwritten the half-precision
     * copy. */
    program->store->half_stale = true;
    return 0;
}

/* Returns the operator that produces the gradient of the parameter SLOT->name, or -1: it is frozen
 * here, or unused. */
static int gradient_producer(const struct graph *graph, const struct store_slot *slot) {
    int parameter = graph_find(graph, slot->name);
    for (int i = 0; i < graph->tensor_count; i++)
        if (graph->tensors[i].role == TENSOR_GRADIENT && graph->tensors[i].parameter == parameter)
            return graph->tensors[i].producer;
    return -1;
}

/* Cuts the gradient arena into buckets of at least BUCKET_BYTES. Slots lie in the order in which
 * gradients are made, so a bucket is complete when the last of its producers has run. A bucket ends
 * before the slot that begins beyond the least size; so a large parameter is never divided. The
 * bounds depend on the store alone, and are the same in all programs for training. */
int program_make_buckets(struct program *program, size_t bucket_bytes, struct error *err) {
    const struct store *store = program->store;
    size_t least =
        (bucket_bytes == 0 ? PROGRAM_BUCKET_BYTES : bucket_bytes) / dtype_size(store->dtype);
    program->buckets = calloc((size_t)store->slot_count + 1, sizeof(*program->buckets));
    if (program->buckets == NULL)
        return error_no_memory(err, "gradient buckets");
    struct bucket open = {0};
    for (int i = 0; i < store->slot_count; i++) {
        if (store->slots[i].home != STORE_PARAMETERS)
            continue;
        if (store->slots[i].first - open.first >= least) {
            open.count = store->slots[i].first - open.first;
            program->buckets[program->bucket_count++] = open;
            open.first = store->slots[i].first;
        }
        int producer = gradient_producer(program->graph, &store->slots[i]);
        if (producer < 0 && store->slots[i].trained)
            return error_set(
                err, EXIT_CODE_INTERNAL,
                "%s is trained by another program with this store, but not by this one",
                store->slots[i].name);
        if (producer > open.after)
            open.after = producer;
    }
    open.count = store->count[STORE_GRADIENTS] - open.first;
    program->buckets[program->bucket_count++] = open;
    return 0;
}
