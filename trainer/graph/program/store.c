#include "trainer/graph/program/store.h"

#include "common/cleanup.h"
#include "common/str.h"

#include <stdlib.h>
#include <string.h>

/* All values that outlive a step are in seven arenas. A parameter has the same offset in its own
 * arena and in those of gradient and optimizer. An optimizer, an all-reduce and a checkpoint of all
 * parameters are therefore loops over whole arenas.
 *
 * Parameters lie in the order in which their gradients are made, the last layer's first. Those
 * without a gradient follow, so the trained ones are one range. Each slot begins at a multiple of
 * STORE_ALIGNMENT bytes; groups of that size are also the unit in which masks and optimizers tell
 * parameters apart.
 *
 * In half precision on a device there are two more copies. Parameters have one that operators read,
 * refreshed before a step if it is stale. Gradients that a product makes in that type stay in a
 * second arena beside the wide one (struct backend_gradients), and a mask says where to look. */

/* Bytes of ARENA, padding and flags included. */
static size_t arena_bytes(const struct store *store, enum store_arena arena) {
    return store->count[arena] * dtype_size(store->dtype);
}

/* Returns the device if it has special memory for ARENA, else NULL. Gradients are all-reduced, and
 * a library may demand memory of its own for that. */
static const struct backend_device *summing_device(const struct store *store,
                                                   enum store_arena arena) {
    const struct backend_device *device = store->backend->table->device;
    bool summed = arena == STORE_GRADIENTS && device != NULL && device->alloc_summed != NULL;
    return summed ? device : NULL;
}

/* Allocates ARENA; freed by arena_free, which must decide in the same way. */
static void *arena_alloc(struct store *store, enum store_arena arena, struct error *err) {
    const struct backend_device *device = summing_device(store, arena);
    size_t bytes = arena_bytes(store, arena);
    return device != NULL ? device->alloc_summed(store->backend, bytes, err)
                          : store->backend->table->alloc(store->backend, bytes, err);
}

/* ARENA must be allocated: memory of either kind is freed with its size. */
static void arena_free(struct store *store, enum store_arena arena) {
    const struct backend_device *device = summing_device(store, arena);
    size_t bytes = arena_bytes(store, arena);
    if (device != NULL)
        device->free_summed(store->backend, store->arena[arena], bytes);
    else
        store->backend->table->free(store->backend, store->arena[arena], bytes);
}

/* Bytes of the half-precision copy of the parameters, and below those of the gradients. */
static size_t half_bytes(const struct store *store) {
    return store->half_copy.count * dtype_size((enum dtype)store->half_copy.type);
}

/* Groups of STORE_ALIGNMENT bytes in the gradient arena: bytes of the mask. The arena's size is a
 * whole number of them: slots are rounded up, and so many are the flags. */
static size_t group_count(const struct store *store) {
    return store->count[STORE_GRADIENTS] * dtype_size(store->dtype) / STORE_ALIGNMENT;
}

static size_t half_gradient_bytes(const struct store *store) {
    return store->count[STORE_GRADIENTS] * dtype_size((enum dtype)store->gradients.type);
}

/* The copy and its mask, for sizes.c; 0 before they are allocated. */
size_t store_beside_gradients(const struct store *store) {
    return store->gradients.half == NULL ? 0 : half_gradient_bytes(store) + group_count(store);
}

/* Also frees a store that was laid out or allocated in part, or not at all. Mirrors are host
 * memory. */
void store_done(struct store *store) {
    for (int i = 0; i < STORE_ARENAS; i++) {
        if (store->arena[i] != NULL)
            arena_free(store, (enum store_arena)i);
        free(store->mirror[i]);
    }
    if (store->half_copy.half != NULL)
        store->backend->table->free(store->backend, store->half_copy.half, half_bytes(store));
    if (store->gradients.half != NULL)
        store->backend->table->free(store->backend, store->gradients.half,
                                    half_gradient_bytes(store));
    if (store->half_mask != NULL)
        store->backend->table->free(store->backend, store->half_mask, group_count(store));
    free(store->slots);
    *store = (struct store){0};
}

/* `version` makes packed weights stale (program_stale), `half_stale` the half-precision copy. */
void store_changed(struct store *store) {
    store->version++;
    store->half_stale = true;
}

/* The optimizer has written the half-precision copy itself, so only packed weights are stale. */
void store_updated(struct store *store) {
    store->version++;
}

/* The device converts the whole arena. It is enqueued, like a step. Nothing to do without such a
 * copy, or while it is fresh. */
int store_refresh_half(struct store *store, struct error *err) {
    if (store->half_copy.half == NULL || !store->half_stale)
        return 0;
    const struct backend_device *device = store->backend->table->device;
    if (device->refresh_half(store->backend, &store->half_copy, err) != 0)
        return error_wrap(err, "parameters in %s", dtype_name((enum dtype)store->half_copy.type));
    store->half_stale = false;
    return 0;
}

/* Opens the half-precision copy of the parameters, if the device wants one and TYPE is narrower
 * than the store's. A network without parameters needs none. */
static int open_half(struct store *store, enum dtype type, struct error *err) {
    const struct backend_table *table = store->backend->table;
    bool wanted = table->device != NULL && table->device->refresh_half != NULL;
    if (!wanted || dtype_size(type) >= dtype_size(store->dtype))
        return 0;
    store->half_copy = (struct half_copy){.wide = store->arena[STORE_PARAMETERS],
                                          .count = store->count[STORE_PARAMETERS],
                                          .type = (int)type};
    if (store->half_copy.count == 0)
        return 0;
    store->half_stale = true;
    store->half_copy.half = table->alloc(store->backend, half_bytes(store), err);
    return store->half_copy.half == NULL ? -1 : 0;
}

/* Determines which groups of elements the products make in half precision, and copies that to the
 * device. A slot begins with a group, so no group belongs to two. */
static int open_half_mask(struct store *store, struct error *err) {
    const struct backend_table *table = store->backend->table;
    size_t count = group_count(store), unit = STORE_ALIGNMENT / dtype_size(store->dtype);
    cleanup_free unsigned char *host = calloc(count, 1);
    if (host == NULL)
        return error_no_memory(err, "gradients");
    for (int i = 0; i < store->slot_count; i++) {
        const struct store_slot *slot = &store->slots[i];
        if (slot->half_gradient)
            memset(host + slot->first / unit, 1, (slot->count + unit - 1) / unit);
    }
    store->half_mask = table->alloc(store->backend, count, err);
    store->gradients.half_mask = store->half_mask;
    return store->half_mask == NULL
               ? -1
               : table->copy_in(store->backend, store->half_mask, host, count, err);
}

/* Opens the memory for half-precision gradients, as long as the wide arena, so that offsets are the
 * same; none if no slot has such a gradient. */
static int open_gradients(struct store *store, enum dtype type, struct error *err) {
    bool any = false;
    for (int i = 0; i < store->slot_count; i++)
        any = any || store->slots[i].half_gradient;
    store->gradients =
        (struct backend_gradients){.wide = store->arena[STORE_GRADIENTS], .type = (int)type};
    if (!any)
        return 0;
    store->gradients.half =
        store->backend->table->alloc(store->backend, half_gradient_bytes(store), err);
    return store->gradients.half == NULL ? -1 : open_half_mask(store, err);
}

/* Adds the half-precision gradients to nothing: the sum with SUM NULL is a conversion where the
 * mask says so, and leaves the others as they are. */
int store_widen_gradients(struct store *store, struct error *err) {
    if (store->gradients.half == NULL)
        return 0;
    const struct backend_sum sum = {.to = store->gradients.wide,
                                    .gradients = store->gradients,
                                    .count = store->count[STORE_GRADIENTS]};
    return store->backend->table->device->add(store->backend, &sum, err);
}

/* Rounds a number of elements up to whole groups, of 16 in f32 and 8 in f64. */
static size_t round_up(const struct store *store, size_t count) {
    size_t unit = STORE_ALIGNMENT / dtype_size(store->dtype);
    return (count + unit - 1) / unit * unit;
}

/* Returns the arena of a tensor's values; only parameters, states and constants come here. */
static enum store_arena home_of(enum tensor_role role) {
    switch (role) {
    case TENSOR_STATE:
        return STORE_STATE;
    case TENSOR_CONSTANT:
        return STORE_CONSTANTS;
    default:
        return STORE_PARAMETERS;
    }
}

/* Appends a slot for tensor NUMBER at the end of its arena. */
static void add_slot(struct store *store, const struct graph *graph, int number) {
    const struct tensor *tensor = &graph->tensors[number];
    struct store_slot *slot = &store->slots[store->slot_count++];
    enum store_arena home = home_of(tensor->role);
    *slot = (struct store_slot){.shape = tensor->shape,
                                .init = tensor->init,
                                .init_fan = tensor->init_fan,
                                .file = tensor->file,
                                .tensor = number,
                                .home = home,
                                .first = store->count[home],
                                .count = (size_t)tensor_count(tensor)};
    memcpy(slot->name, tensor->name, sizeof(slot->name));
    store->count[home] += round_up(store, slot->count);
}

/* Adds parameters in the order in which their gradients are made, then those without gradient, then
 * states and constants in the order of the graph. An evaluation has no gradients: its parameters
 * are all in the order of the graph, unless a training has laid out the store before. */
static int add_slots(struct store *store, const struct graph *graph, struct error *err) {
    cleanup_free bool *seen = calloc((size_t)graph->tensor_count + 1, sizeof(*seen));
    store->slots = calloc((size_t)graph->tensor_count + 1, sizeof(*store->slots));
    if (seen == NULL || store->slots == NULL)
        return error_no_memory(err, "the store");
    /* Operators are in the order in which they run, hence so are the gradients. Each parameter has
     * one (graph_add_gradients), so none gets two slots. */
    for (int i = 0; i < graph->op_count; i++) {
        for (int k = 0; k < OP_OUTPUTS_MAX; k++) {
            int output = graph->ops[i].outputs[k];
            if (output == TENSOR_NONE || graph->tensors[output].role != TENSOR_GRADIENT)
                continue;
            int parameter = graph->tensors[output].parameter;
            seen[parameter] = true;
            add_slot(store, graph, parameter);
            store->slots[store->slot_count - 1].trained = true;
            store->slots[store->slot_count - 1].half_gradient =
                dtype_size(graph->tensors[output].dtype) < dtype_size(store->dtype);
        }
    }
    store->trained = store->count[STORE_PARAMETERS];
    for (int i = 0; i < graph->tensor_count; i++)
        if (graph->tensors[i].role == TENSOR_PARAMETER && !seen[i])
            add_slot(store, graph, i);
    static const enum tensor_role others[] = {TENSOR_STATE, TENSOR_CONSTANT};
    for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++)
        for (int i = 0; i < graph->tensor_count; i++)
            if (graph->tensors[i].role == others[k])
                add_slot(store, graph, i);
    return 0;
}

/* The gradient arena is longer by the flags: they travel with the last bucket. GRAPH->keeps says
 * which arenas the optimizer has. */
int store_lay_out(struct store *store, struct backend *backend, const struct graph *graph,
                  struct error *err) {
    *store = (struct store){.backend = backend, .dtype = dtype_wide(graph->dtype)};
    if (add_slots(store, graph, err) != 0)
        return -1;
    if (graph->training) {
        store->flags = store->count[STORE_PARAMETERS];
        store->count[STORE_GRADIENTS] = store->flags + STORE_FLAGS;
        const size_t count = store->count[STORE_PARAMETERS];
        store->count[STORE_MOMENTUM] = (graph->keeps & GRAPH_KEEPS_MOMENTUM) != 0 ? count : 0;
        store->count[STORE_SECOND] = (graph->keeps & GRAPH_KEEPS_SECOND) != 0 ? count : 0;
        store->count[STORE_AVERAGE] = (graph->keeps & GRAPH_KEEPS_AVERAGE) != 0 ? count : 0;
    }
    return 0;
}

/* The flags of the gradient arena need no slot. On failure store_done frees what there is. */
int store_allocate(struct store *store, const struct graph *graph, struct error *err) {
    for (int i = 0; i < STORE_ARENAS; i++) {
        if (store->count[i] == 0)
            continue;
        store->arena[i] = arena_alloc(store, (enum store_arena)i, err);
        if (store->arena[i] == NULL)
            return error_wrap(err, "parameters");
    }
    if (open_half(store, graph->dtype, err) != 0 ||
        (graph->training && open_gradients(store, graph->dtype, err) != 0))
        return error_wrap(err, "parameters");
    return 0;
}

int store_init(struct store *store, struct backend *backend, const struct graph *graph,
               struct error *err) {
    return store_lay_out(store, backend, graph, err) != 0 ? -1 : store_allocate(store, graph, err);
}

/* A walk over all names: it is asked when programs are bound and files read, not in a step. */
const struct store_slot *store_find(const struct store *store, const char *name) {
    for (int i = 0; i < store->slot_count; i++)
        if (strcmp(store->slots[i].name, name) == 0)
            return &store->slots[i];
    return NULL;
}

/* Slots with a home of their own, states and constants, have values there alone. Without training
 * there are no gradients and no state of the optimizer, so the result is NULL. */
void *store_at(const struct store *store, const struct store_slot *slot, enum store_arena arena) {
    bool beside =
        slot->home == STORE_PARAMETERS && (arena == STORE_GRADIENTS || store_is_kept(arena));
    if ((arena != slot->home && !beside) || store->arena[arena] == NULL)
        return NULL;
    return (char *)store->arena[arena] + slot->first * dtype_size(store->dtype);
}

/* Before the allocation of half-precision gradients, and without any, the wide arena is the
 * place. */
void *store_gradient_at(const struct store *store, const struct store_slot *slot) {
    if (!slot->half_gradient || store->gradients.half == NULL)
        return store_at(store, slot, STORE_GRADIENTS);
    return (char *)store->gradients.half +
           slot->first * dtype_size((enum dtype)store->gradients.type);
}

/* Gradients are widened first, all of them, as the mask is for the whole arena. */
int store_read(struct store *store, const struct store_slot *slot, enum store_arena arena,
               void *ret_values, struct error *err) {
    const void *from = store_at(store, slot, arena);
    if (from == NULL)
        return error_set(err, EXIT_CODE_INTERNAL, "the store keeps no values of kind %d for %s",
                         (int)arena, slot->name);
    if (arena == STORE_GRADIENTS && store_widen_gradients(store, err) != 0)
        return -1;
    return store->backend->table->copy_out(store->backend, ret_values, from,
                                           slot->count * dtype_size(store->dtype), err);
}

/* The version changes before the copy: even one that fails may have written something. */
int store_write(struct store *store, const struct store_slot *slot, enum store_arena arena,
                const void *values, struct error *err) {
    void *to = store_at(store, slot, arena);
    if (to == NULL)
        return error_set(err, EXIT_CODE_INTERNAL, "the store keeps no values of kind %d for %s",
                         (int)arena, slot->name);
    store_changed(store);
    return store->backend->table->copy_in(store->backend, to, values,
                                          slot->count * dtype_size(store->dtype), err);
}

/* Copies ARENA as it is from a device to its mirror, which is allocated at the first call and
 * stays. Host arenas are handed out themselves. */
static int pull(struct store *store, enum store_arena arena, void **ret_values, struct error *err) {
    const struct backend_table *table = store->backend->table;
    if (table->device == NULL || store->arena[arena] == NULL) {
        *ret_values = store->arena[arena];
        return 0;
    }
    if (store->mirror[arena] == NULL)
        store->mirror[arena] = malloc(arena_bytes(store, arena));
    if (store->mirror[arena] == NULL)
        return error_no_memory(err, "a copy of the parameters");
    *ret_values = store->mirror[arena];
    return table->copy_out(store->backend, store->mirror[arena], store->arena[arena],
                           arena_bytes(store, arena), err);
}

int store_pull(struct store *store, enum store_arena arena, void **ret_values, struct error *err) {
    return arena == STORE_GRADIENTS && store_widen_gradients(store, err) != 0
               ? -1
               : pull(store, arena, ret_values, err);
}

/* Without widening: the sums are in the wide arena, and half-precision gradients of this rank alone
 * would replace them. */
int store_pull_sums(struct store *store, void **ret_values, struct error *err) {
    return pull(store, STORE_GRADIENTS, ret_values, err);
}

/* Without a mirror nothing was pulled, so there is nothing to push; the caller has changed a host
 * arena in place. */
int store_push(struct store *store, enum store_arena arena, struct error *err) {
    const struct backend_table *table = store->backend->table;
    store_changed(store);
    if (table->device == NULL || store->mirror[arena] == NULL)
        return 0;
    return table->copy_in(store->backend, store->arena[arena], store->mirror[arena],
                          arena_bytes(store, arena), err);
}

/* These arenas have the offsets of the parameters, and exist only as far as the optimizer needs
 * them. */
bool store_is_kept(enum store_arena arena) {
    return arena == STORE_MOMENTUM || arena == STORE_SECOND || arena == STORE_AVERAGE;
}

/* Through the host: it happens once, at the start of a training. */
int store_start_average(struct store *store, struct error *err) {
    void *from = NULL, *to = NULL;
    if (store->count[STORE_AVERAGE] == 0)
        return 0;
    if (store_pull(store, STORE_PARAMETERS, &from, err) != 0 ||
        store_pull(store, STORE_AVERAGE, &to, err) != 0)
        return -1;
    memcpy(to, from, arena_bytes(store, STORE_AVERAGE));
    return store_push(store, STORE_AVERAGE, err);
}

/* Exchanges byte by byte, as the element type does not matter. Both arenas have the same size: the
 * average is of all parameters. */
int store_exchange_average(struct store *store, struct error *err) {
    void *parameters = NULL, *average = NULL;
    if (store->count[STORE_AVERAGE] == 0)
        return 0;
    if (store_pull(store, STORE_PARAMETERS, &parameters, err) != 0 ||
        store_pull(store, STORE_AVERAGE, &average, err) != 0)
        return -1;
    unsigned char *one = parameters, *other = average;
    const size_t bytes = arena_bytes(store, STORE_AVERAGE);
    for (size_t i = 0; i < bytes; i++) {
        unsigned char kept = one[i];
        one[i] = other[i];
        other[i] = kept;
    }
    return store_push(store, STORE_PARAMETERS, err) != 0 ? -1
                                                         : store_push(store, STORE_AVERAGE, err);
}
