#include "cuda/emulated.h"

#include "cuda/context.h"
#include "cuda/queue.h"
#include "ref/ref.h"

#include <stdlib.h>
#include <string.h>

enum {
    MULTIPROCESSORS = 2, /* few, so that a launch has few blocks, and more than one */
    LENT_MAX = 4096
};

struct emulated {
    struct cuda cuda;     /* first: the steps see this */
    struct backend *ref;  /* runs what a library would; NULL: not at all */
    void *lent[LENT_MAX]; /* contexts that are ref's */
    size_t lent_count;
};

static bool is_own(enum op_kind kind) {
    const struct cuda_rule *rule = cuda_rule(kind);
    return rule != NULL && rule != &cuda_conv_rule && rule != &cuda_linear_rule &&
           rule != &cuda_linear_grad_weight_rule;
}

static bool supports(const struct backend *backend, const struct graph *graph,
                     const struct op *op) {
    const struct emulated *e = (const struct emulated *)backend;
    if (graph->dtype == DTYPE_F64 || cuda_rule(op->kind) == NULL)
        return false;
    return is_own(op->kind) || (e->ref != NULL && e->ref->table->supports(e->ref, graph, op));
}

static int query(struct backend *backend, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    struct emulated *e = (struct emulated *)backend;
    const struct cuda_rule *rule = cuda_rule(op->kind);
    if (!is_own(op->kind))
        return e->ref->table->query(e->ref, graph, op, ret_needs, err);
    return rule->query == NULL ? 0 : rule->query(&e->cuda, graph, op, ret_needs, err);
}

static int bind(struct backend *backend, const struct graph *graph, const struct op *op,
                const struct backend_site *site, struct backend_bound *ret_bound,
                struct error *err) {
    struct emulated *e = (struct emulated *)backend;
    if (is_own(op->kind))
        return cuda_rule(op->kind)->bind(&e->cuda, graph, op, site, ret_bound, err);
    if (e->lent_count == LENT_MAX)
        return error_set(err, EXIT_CODE_INTERNAL, "more than %d lent steps", LENT_MAX);
    int result = e->ref->table->bind(e->ref, graph, op, site, ret_bound, err);
    if (ret_bound->step.context != NULL)
        e->lent[e->lent_count++] = ret_bound->step.context;
    return result;
}

static void release(struct backend *backend, void *context) {
    struct emulated *e = (struct emulated *)backend;
    for (size_t i = 0; i < e->lent_count; i++) {
        if (e->lent[i] == context) {
            e->lent[i] = e->lent[--e->lent_count];
            e->ref->table->release(e->ref, context);
            return;
        }
    }
    cuda_step_free(context);
}

static void *alloc(struct backend *backend, size_t bytes, struct error *err) {
    (void)backend;
    size_t rounded = (bytes + BACKEND_ALIGNMENT - 1) / BACKEND_ALIGNMENT * BACKEND_ALIGNMENT;
    void *memory = aligned_alloc(BACKEND_ALIGNMENT, rounded > 0 ? rounded : BACKEND_ALIGNMENT);
    if (memory == NULL)
        (void)error_no_memory(err, "emulated memory");
    else
        memset(memory, 0, rounded);
    return memory;
}

static void free_memory(struct backend *backend, void *memory, size_t bytes) {
    (void)backend;
    (void)bytes;
    free(memory);
}

static int copy_in(struct backend *backend, void *device, const void *host, size_t bytes,
                   struct error *err) {
    (void)backend;
    (void)err;
    memcpy(device, host, bytes);
    return 0;
}

static int sync(struct backend *backend, struct error *err) {
    (void)backend;
    (void)err;
    return 0;
}

static const char *describe(const struct backend *backend) {
    (void)backend;
    return "CUDA kernels on the host";
}

static void close_backend(struct backend *backend) {
    struct emulated *e = (struct emulated *)backend;
    backend_close(e->ref);
    free(e->cuda.control);
    free(e);
}

static void *host_alloc(struct backend *backend, size_t bytes, struct error *err) {
    return alloc(backend, bytes, err);
}

static void host_free(struct backend *backend, void *memory) {
    (void)backend;
    free(memory);
}

static int clear(struct backend *backend, void *memory, size_t bytes, struct error *err) {
    (void)backend;
    (void)err;
    memset(memory, 0, bytes);
    return 0;
}

static int set_sgd(struct backend *backend, const struct sgd_step *step, struct error *err) {
    (void)err;
    ((struct cuda *)backend)->control->step = *step;
    return 0;
}

static const struct backend_device queue = {
    .host_alloc = host_alloc,
    .host_free = host_free,
    .copy = copy_in,
    .clear = clear,
    .add = cuda_queue_add,
    .set_sgd = set_sgd,
    .sgd = cuda_queue_sgd,
};

static const struct backend_table table = {
    .name = "cuda (on the host)",
    .device = &queue,
    .supports = supports,
    .query = query,
    .bind = bind,
    .release = release,
    .alloc = alloc,
    .free = free_memory,
    .copy_in = copy_in,
    .copy_out = copy_in,
    .sync = sync,
    .describe = describe,
    .close = close_backend,
};

int emulated_open(struct backend **ret, bool whole, struct error *err) {
    struct emulated *e = calloc(1, sizeof(*e));
    struct control *control = calloc(1, sizeof(*control));
    if (e == NULL || control == NULL || (whole && ref_open(&e->ref, err) != 0)) {
        free(e);
        free(control);
        return error_no_memory(err, "emulated backend");
    }
    e->cuda.base.table = &table;
    e->cuda.multiprocessors = MULTIPROCESSORS;
    e->cuda.control = control;
    control->loss_scale = 1;
    *ret = &e->cuda.base;
    return 0;
}
