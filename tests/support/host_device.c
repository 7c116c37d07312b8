#include "tests/support/host_device.h"

#include "tests/support/unit.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/graph.h"
#include "trainer/graph/host_memory.h"
#include "trainer/graph/program/store.h"
#include "trainer/math/bf16.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* One operator: the reference's step, and what the engine gave for it. */
struct emulated_step {
    struct host_device *device;
    struct bound_step inner;
    int number, forward; /* the step that has its note in SAVED */
    int *saved;
    void *packed;
    const float *weights; /* of a convolution, else NULL */
    size_t weight_count;
    struct half_copy half_copy;
};

static struct host_device *of(struct backend *backend) {
    return (struct host_device *)backend;
}

/* Counts this call, and fails if it is the one that FAIL_AT names. */
static int count_call(struct host_device *d, struct error *err) {
    if (++d->calls != d->fail_at)
        return 0;
    return error_set(err, EXIT_CODE_DEVICE, "the device is gone");
}

/* --- steps ------------------------------------------------------------------------------------ */

static int check_half(const struct emulated_step *s, struct error *err) {
    if (s->half_copy.half == NULL || s->weights < s->half_copy.wide ||
        s->weights >= s->half_copy.wide + s->half_copy.count) /* a constant */
        return 0;
    const uint16_t *half = (const uint16_t *)s->half_copy.half + (s->weights - s->half_copy.wide);
    for (size_t i = 0; i < s->weight_count; i++)
        if (half[i] != bf16_from_f32(s->weights[i]))
            return error_set(err, EXIT_CODE_INTERNAL, "half-precision weights are stale");
    return 0;
}

static int check_weights(const struct emulated_step *s, struct error *err) {
    if (s->weights == NULL)
        return 0;
    if (memcmp(s->packed, s->weights, s->weight_count * sizeof(*s->weights)) != 0)
        return error_set(err, EXIT_CODE_INTERNAL, "packed weights are stale");
    return check_half(s, err);
}

static int run_step(void *context, struct error *err) {
    struct emulated_step *s = context;
    struct host_device *d = s->device;
    if (count_call(d, err) != 0 || check_weights(s, err) != 0)
        return -1;
    if (s->saved != NULL && s->forward == s->number)
        *s->saved = s->number;
    if (s->saved != NULL && *s->saved != s->forward)
        return error_set(err, EXIT_CODE_INTERNAL, "what was saved is another operator's");
    d->before[s->number] = d->stream_past[d->stream];
    d->stream_past[d->stream].step[s->number] = true;
    return s->inner.run(s->inner.context, err);
}

static int refresh_step(void *context, struct error *err) {
    struct emulated_step *s = context;
    if (s->device->refresh_count < HOST_DEVICE_STEPS_MAX)
        s->device->refreshed[s->device->refresh_count] = s->weights;
    s->device->refresh_count++;
    memcpy(s->packed, s->weights, s->weight_count * sizeof(*s->weights));
    return count_call(s->device, err);
}

static bool packs(const struct op *op) {
    return op->kind == OP_CONV2D || op->kind == OP_CONV2D_GRAD_DATA;
}

static bool supports(const struct backend *backend, const struct graph *graph,
                     const struct op *op) {
    const struct host_device *d = (const struct host_device *)backend;
    return d->ref->table->supports(d->ref, graph, op);
}

static int query(struct backend *backend, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    struct host_device *d = of(backend);
    if (count_call(d, err) != 0)
        return -1;
    if (packs(op))
        ret_needs->packed = tensor_bytes(&graph->tensors[op->inputs[1]]);
    if (op->kind == OP_CONV2D)
        ret_needs->saved = sizeof(int);
    return d->ref->table->query(d->ref, graph, op, ret_needs, err);
}

static int bind(struct backend *backend, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    struct host_device *d = of(backend);
    int number = (int)(op - graph->ops);
    CU_ASSERT_FATAL(number < HOST_DEVICE_STEPS_MAX);
    struct backend_bound inner = {0};
    struct emulated_step *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return error_no_memory(err, "a step");
    if (count_call(d, err) != 0 ||
        d->ref->table->bind(d->ref, graph, op, addresses, &inner, err) != 0) {
        free(s);
        return -1;
    }
    *s = (struct emulated_step){.device = d,
                                .inner = inner.step,
                                .number = number,
                                .forward = op->forward >= 0 ? op->forward : number,
                                .saved = addresses->saved,
                                .half_copy = addresses->half_copy};
    ret_bound->step = (struct bound_step){.run = run_step, .context = s};
    if (!packs(op))
        return 0;
    s->packed = addresses->packed;
    s->weights = addresses->inputs[1];
    s->weight_count = (size_t)tensor_count(&graph->tensors[op->inputs[1]]);
    ret_bound->refresh = (struct bound_step){.run = refresh_step, .context = s};
    return 0;
}

static void release(struct backend *backend, void *context) {
    struct host_device *d = of(backend);
    struct emulated_step *s = context;
    d->ref->table->release(d->ref, s->inner.context);
    free(s);
}

/* --- memory ----------------------------------------------------------------------------------- */

static void *take(struct backend *backend, size_t bytes, bool summed, struct error *err) {
    struct host_device *d = of(backend);
    CU_ASSERT_FATAL(d->block_count < HOST_DEVICE_BLOCKS_MAX);
    void *memory = host_memory_alloc(backend, bytes, err);
    if (memory != NULL)
        d->blocks[d->block_count++] = (struct host_device_block){memory, bytes, summed};
    return memory;
}

static void give_back(struct backend *backend, void *memory, size_t bytes, bool summed) {
    struct host_device *d = of(backend);
    const struct host_device_block *block = host_device_block(d, memory);
    CU_ASSERT_PTR_NOT_NULL_FATAL(block);
    CU_ASSERT(block->bytes == bytes && block->summed == summed);
    d->blocks[block - d->blocks] = d->blocks[--d->block_count];
    host_memory_free(backend, memory, bytes);
}

static void *device_alloc(struct backend *backend, size_t bytes, struct error *err) {
    return take(backend, bytes, false, err);
}

static void device_free(struct backend *backend, void *memory, size_t bytes) {
    give_back(backend, memory, bytes, false);
}

static void *alloc_summed(struct backend *backend, size_t bytes, struct error *err) {
    return take(backend, bytes, true, err);
}

static void free_summed(struct backend *backend, void *memory, size_t bytes) {
    give_back(backend, memory, bytes, true);
}

static int device_copy(struct backend *backend, void *to, const void *from, size_t bytes,
                       struct error *err) {
    if (count_call(of(backend), err) != 0)
        return -1;
    return host_memory_copy(backend, to, from, bytes, err);
}

/* --- the device ------------------------------------------------------------------------------- */

static int select_stream(struct backend *backend, enum backend_stream stream, struct error *err) {
    of(backend)->stream = stream; /* where the engine believes to be, failed or not */
    return count_call(of(backend), err);
}

static int set_event(struct backend *backend, int number, struct error *err) {
    struct host_device *d = of(backend);
    CU_ASSERT_FATAL(number >= 0 && number < BACKEND_EVENTS);
    d->event_past[number] = d->stream_past[d->stream];
    return count_call(d, err);
}

static int wait_for(struct backend *backend, int number, struct error *err) {
    struct host_device *d = of(backend);
    CU_ASSERT_FATAL(number >= 0 && number < BACKEND_EVENTS);
    for (int i = 0; i < HOST_DEVICE_STEPS_MAX; i++)
        d->stream_past[d->stream].step[i] |= d->event_past[number].step[i];
    return count_call(d, err);
}

static int refresh_half(struct backend *backend, const struct half_copy *copy, struct error *err) {
    CU_ASSERT_EQUAL_FATAL(copy->type, DTYPE_BF16);
    of(backend)->half_count++;
    for (size_t i = 0; i < copy->count; i++)
        ((uint16_t *)copy->half)[i] = bf16_from_f32(copy->wide[i]);
    return count_call(of(backend), err);
}

static int half_gradient(const struct backend *backend, const struct graph *graph,
                         const struct op *op) {
    (void)backend, (void)graph;
    return op->kind == OP_CONV2D_GRAD_WEIGHT ? 0 : -1;
}

static int add(struct backend *backend, const struct backend_sum *sum, struct error *err) {
    const struct backend_gradients *g = &sum->gradients;
    of(backend)->add_count++;
    for (size_t i = sum->first; i < sum->first + sum->count; i++) {
        bool is_half = g->half != NULL && g->half_mask[i * sizeof(float) / STORE_ALIGNMENT] != 0;
        float value = is_half ? bf16_to_f32(((const uint16_t *)g->half)[i]) : g->wide[i];
        sum->to[i] = (sum->sum != NULL ? sum->sum[i] : 0) + value;
    }
    return count_call(of(backend), err);
}

static void close_device(struct backend *backend) {
    CU_ASSERT_EQUAL(of(backend)->block_count, 0);
    backend_close(of(backend)->ref);
}

void host_device_open(struct host_device *d) {
    *d = (struct host_device){.stream = STREAM_MAIN};
    CU_ASSERT_EQUAL_FATAL(ref_open(&d->ref, NULL), 0);
    d->device = (struct backend_device){.select = select_stream,
                                        .event = set_event,
                                        .wait = wait_for,
                                        .alloc_summed = alloc_summed,
                                        .free_summed = free_summed,
                                        .refresh_half = refresh_half,
                                        .half_gradient = half_gradient,
                                        .add = add};
    d->table = (struct backend_table){.name = "host device",
                                      .device = &d->device,
                                      .supports = supports,
                                      .query = query,
                                      .bind = bind,
                                      .release = release,
                                      .alloc = device_alloc,
                                      .free = device_free,
                                      .copy_in = device_copy,
                                      .copy_out = device_copy,
                                      .close = close_device};
    d->base.table = &d->table;
}

const struct host_device_block *host_device_block(const struct host_device *d, const void *memory) {
    for (int i = 0; i < d->block_count; i++)
        if (d->blocks[i].memory == memory)
            return &d->blocks[i];
    return NULL;
}
