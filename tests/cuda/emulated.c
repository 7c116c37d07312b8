#include "tests/cuda/emulated.h"

#include "tests/cuda/shadow.h"
#include "tests/cuda/streams_emulated.h"
#include "trainer/backend/cuda/base/context.h"
#include "trainer/backend/cuda/base/device.h"
#include "trainer/backend/cuda/operators.h"
#include "trainer/backend/cuda/optional/backward.h"
#include "trainer/backend/cuda/optional/row_prefix.h"
#include "trainer/backend/cuda/queue.h"
#include "trainer/backend/ref/ref.h"
#include "trainer/graph/host_memory.h"
#include "trainer/math/bf16.h"
#include "trainer/math/f16.h"

#include <stdlib.h>
#include <string.h>

enum { MULTIPROCESSORS = 2 /* few, so that a launch has few blocks, and more than one */ };

struct emulated {
    struct cuda cuda;                 /* first: the steps see this */
    struct backend *ref;              /* runs what a library would; NULL: not at all */
    struct emulated_streams *streams; /* NULL: everything runs at once */
    size_t limit;                     /* of memory; 0: none */
    size_t used;
    int fault; /* at this wait; 0: none */
    int waits;
    int *chosen;         /* emulated_choose_rows */
    emulated_told *told; /* emulated_compare */
    void *told_user;
};

/* A step that is enqueued, whosever it is. */
struct kept_step {
    struct emulated *e;
    struct backend_bound bound;
    bool lent; /* it is ref's */
    struct shadow *shadow;
    /* Of a step of ref's: its weights and the half-precision copy that a library would read. */
    const float *weights;
    const void *half;
    size_t count;
    bool is_f16;
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
    if (!cuda_backward_supports(&e->cuda, graph, op))
        return false;
    return is_own(op->kind) || (e->ref != NULL && e->ref->table->supports(e->ref, graph, op));
}

static int query_one(struct backend *backend, const struct graph *graph, const struct op *op,
                     struct backend_needs *ret_needs, struct error *err) {
    struct emulated *e = (struct emulated *)backend;
    const struct cuda_rule *rule = cuda_rule(op->kind);
    if (!is_own(op->kind))
        return e->ref->table->query(e->ref, graph, op, ret_needs, err);
    return rule->query == NULL ? 0 : rule->query(&e->cuda, graph, op, ret_needs, err);
}

/* A share of an operator's rows: ref's step for it is wrapped, so that its release can tell. */
struct part_step {
    struct backend_bound bound;
    bool lent;
};

static int run_part(void *context, struct error *err) {
    const struct part_step *part = context;
    return part->bound.step.run(part->bound.step.context, err);
}

static int refresh_part(void *context, struct error *err) {
    const struct part_step *part = context;
    return part->bound.refresh.run(part->bound.refresh.context, err);
}

static int bind_part(struct backend *backend, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses, struct backend_bound *ret_bound,
                     struct error *err) {
    struct emulated *e = (struct emulated *)backend;
    struct part_step *part = calloc(1, sizeof(*part));
    if (part == NULL)
        return error_no_memory(err, "a step");
    part->lent = !is_own(op->kind);
    ret_bound->step = (struct bound_step){run_part, part};
    int result = part->lent
                     ? e->ref->table->bind(e->ref, graph, op, addresses, &part->bound, err)
                     : cuda_rule(op->kind)->bind(&e->cuda, graph, op, addresses, &part->bound, err);
    if (part->bound.refresh.run != NULL)
        ret_bound->refresh = (struct bound_step){refresh_part, part};
    return result;
}

static void release_part(struct backend *backend, void *context) {
    struct emulated *e = (struct emulated *)backend;
    struct part_step *part = context;
    void *inner = part->bound.step.context;
    if (inner != NULL && part->lent)
        e->ref->table->release(e->ref, inner);
    else if (inner != NULL)
        cuda_step_free(inner);
    free(part);
}

static const struct cuda_row_prefix_of parts = {supports, query_one, bind_part, release_part};

static bool has_parts(struct emulated *e, const struct graph *graph, const struct op *op) {
    return cuda_row_prefix_has(&e->cuda, &parts, graph, op);
}

static int query(struct backend *backend, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    struct emulated *e = (struct emulated *)backend;
    return has_parts(e, graph, op)
               ? cuda_row_prefix_query(&e->cuda, &parts, graph, op, ret_needs, err)
               : query_one(backend, graph, op, ret_needs, err);
}

static int enqueue(struct emulated *e, const struct streams_call *call, struct error *err) {
    if (e->streams == NULL)
        return call->run(&e->cuda.base, call, err);
    return emulated_streams_add(e->streams, call, err);
}

static int run_kept(struct backend *backend, const struct streams_call *call, struct error *err) {
    (void)backend;
    return call->step.run(call->step.context, err);
}

/* What a library would read has to be what ref reads, rounded. */
static int run_lent(void *context, struct error *err) {
    const struct kept_step *kept = context;
    const uint16_t *half = kept->half;
    for (size_t i = 0; half != NULL && i < kept->count; i++)
        if (half[i] !=
            (kept->is_f16 ? f16_from_f32(kept->weights[i]) : bf16_from_f32(kept->weights[i])))
            return error_set(err, EXIT_CODE_INTERNAL, "weights were not rounded anew");
    return kept->bound.step.run(kept->bound.step.context, err);
}

static int run_compared(void *context, struct error *err) {
    const struct kept_step *kept = context;
    if (shadow_run(kept->shadow, err) != 0 ||
        kept->bound.step.run(kept->bound.step.context, err) != 0)
        return -1;
    kept->e->told(kept->e->told_user, shadow_op(kept->shadow), shadow_error(kept->shadow));
    return 0;
}

static int enqueue_step(void *context, struct error *err) {
    struct kept_step *kept = context;
    struct bound_step step = kept->lent ? (struct bound_step){run_lent, kept} : kept->bound.step;
    if (kept->shadow != NULL)
        step = (struct bound_step){run_compared, kept};
    return enqueue(kept->e, &(struct streams_call){.run = run_kept, .step = step}, err);
}

static int enqueue_refresh(void *context, struct error *err) {
    const struct kept_step *kept = context;
    return enqueue(kept->e, &(struct streams_call){.run = run_kept, .step = kept->bound.refresh},
                   err);
}

static void release(struct backend *backend, void *context) {
    struct emulated *e = (struct emulated *)backend;
    struct kept_step *kept = context;
    void *inner = kept->bound.step.context;
    if (inner != NULL && kept->lent)
        e->ref->table->release(e->ref, inner);
    else if (inner != NULL)
        cuda_step_free(inner);
    shadow_done(kept->shadow);
    free(kept);
}

static void note_half(struct kept_step *kept, const struct graph *graph, const struct op *op,
                      const struct op_addresses *addresses) {
    const struct tensor *w = op->inputs[1] == TENSOR_NONE ? NULL : cuda_input(graph, op, 1);
    if (w == NULL || !cuda_has_half(graph, w))
        return;
    kept->is_f16 = graph->dtype == DTYPE_F16;
    kept->weights = addresses->inputs[1];
    kept->half = cuda_half(graph, addresses, addresses->inputs[1]);
    kept->count = (size_t)tensor_count(w);
}

static int bind(struct backend *backend, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    struct emulated *e = (struct emulated *)backend;
    struct kept_step *kept = calloc(1, sizeof(*kept));
    if (kept == NULL)
        return error_no_memory(err, "a step");
    bool split = has_parts(e, graph, op);
    *kept = (struct kept_step){.e = e, .lent = !split && !is_own(op->kind)};
    ret_bound->step = (struct bound_step){enqueue_step, kept};
    int result;
    if (split)
        result = cuda_row_prefix_bind(&e->cuda, &parts, graph, op, addresses, &kept->bound, err);
    else if (kept->lent)
        result = e->ref->table->bind(e->ref, graph, op, addresses, &kept->bound, err);
    else
        result = cuda_rule(op->kind)->bind(&e->cuda, graph, op, addresses, &kept->bound, err);
    if (kept->lent)
        note_half(kept, graph, op, addresses);
    else if (result == 0 && e->told != NULL && !split)
        result = (kept->shadow = shadow_bind(e->ref, graph, op, addresses, err)) == NULL ? -1 : 0;
    if (kept->bound.refresh.run != NULL)
        ret_bound->refresh = (struct bound_step){enqueue_refresh, kept};
    return result;
}

static void *alloc(struct backend *backend, size_t bytes, struct error *err) {
    struct emulated *e = (struct emulated *)backend;
    if (e->limit > 0 && e->used + bytes > e->limit) {
        (void)error_set(err, EXIT_CODE_DEVICE, "%.1f MiB needed, %.1f MiB free",
                        (double)bytes / 1048576, (double)(e->limit - e->used) / 1048576);
        return NULL;
    }
    e->used += bytes;
    return host_memory_alloc(backend, bytes, err);
}

static int sync(struct backend *backend, struct error *err) {
    struct emulated *e = (struct emulated *)backend;
    if (e->fault > 0 && ++e->waits >= e->fault)
        return cuda_error(cudaErrorIllegalAddress, "running a step", err);
    return e->streams == NULL ? 0 : emulated_streams_sync(e->streams, err);
}

static int run_copy(struct backend *backend, const struct streams_call *call, struct error *err) {
    (void)backend;
    (void)err;
    memcpy(call->to, call->from, call->size);
    return 0;
}

static int copy(struct backend *backend, void *to, const void *from, size_t bytes,
                struct error *err) {
    return enqueue((struct emulated *)backend,
                   &(struct streams_call){.run = run_copy, .to = to, .from = from, .size = bytes},
                   err);
}

static int copy_now(struct backend *backend, void *to, const void *from, size_t bytes,
                    struct error *err) {
    return copy(backend, to, from, bytes, err) != 0 ? -1 : sync(backend, err);
}

static const char *describe(const struct backend *backend) {
    (void)backend;
    return "CUDA kernels on the host";
}

static void close_backend(struct backend *backend) {
    struct emulated *e = (struct emulated *)backend;
    emulated_streams_close(e->streams);
    backend_close(e->ref);
    free(e->cuda.control);
    free(e);
}

static void *host_alloc(struct backend *backend, size_t bytes, struct error *err) {
    return host_memory_alloc(backend, bytes, err);
}

static void host_free(struct backend *backend, void *memory) {
    (void)sync(backend, NULL);
    free(memory);
}

static int run_clear(struct backend *backend, const struct streams_call *call, struct error *err) {
    (void)backend;
    (void)err;
    memset(call->to, 0, call->size);
    return 0;
}

static int clear(struct backend *backend, void *memory, size_t bytes, struct error *err) {
    return enqueue((struct emulated *)backend,
                   &(struct streams_call){.run = run_clear, .to = memory, .size = bytes}, err);
}

static int run_add(struct backend *backend, const struct streams_call *call, struct error *err) {
    return cuda_queue_add(backend, &call->sum, err);
}

static int add(struct backend *backend, const struct backend_sum *sum, struct error *err) {
    return enqueue((struct emulated *)backend, &(struct streams_call){.run = run_add, .sum = *sum},
                   err);
}

static int run_refresh_half(struct backend *backend, const struct streams_call *call,
                            struct error *err) {
    return cuda_queue_refresh_half(backend, &call->update.half_copy, err);
}

static int refresh_half(struct backend *backend, const struct half_copy *copy, struct error *err) {
    return enqueue((struct emulated *)backend,
                   &(struct streams_call){.run = run_refresh_half, .update = {.half_copy = *copy}},
                   err);
}

static int set_optimizer(struct backend *backend, const struct optimizer_rule *rule,
                         struct error *err) {
    return copy(backend, &((struct cuda *)backend)->control->rule, rule, sizeof(*rule), err);
}

static int run_optimizer(struct backend *backend, const struct streams_call *call,
                         struct error *err) {
    return cuda_queue_optimizer(backend, &call->update, err);
}

static int update_weights(struct backend *backend, const struct backend_update *update,
                          struct error *err) {
    return enqueue((struct emulated *)backend,
                   &(struct streams_call){.run = run_optimizer, .update = *update}, err);
}

static int optimizer_state(struct backend *backend, struct backend_optimizer_state *ret,
                           struct error *err) {
    return copy(backend, ret, &((struct cuda *)backend)->control->state, sizeof(*ret), err);
}

static int set_optimizer_state(struct backend *backend, const struct backend_optimizer_state *state,
                               struct error *err) {
    return copy_now(backend, &((struct cuda *)backend)->control->state, state, sizeof(*state), err);
}

static int run_squares(struct backend *backend, const struct streams_call *call,
                       struct error *err) {
    return cuda_queue_squares(backend, &call->update, err);
}

static int squares(struct backend *backend, const struct backend_update *update, double *ret,
                   struct error *err) {
    if (enqueue((struct emulated *)backend,
                &(struct streams_call){.run = run_squares, .update = *update}, err) != 0)
        return -1;
    return copy(backend, ret, &((struct cuda *)backend)->control->squares, sizeof(*ret), err);
}

static struct emulated_streams *streams_of_backend(struct backend *backend) {
    return ((struct emulated *)backend)->streams;
}

static int select_stream(struct backend *backend, enum backend_stream stream, struct error *err) {
    (void)err;
    emulated_streams_select(streams_of_backend(backend), stream);
    return 0;
}

static int event(struct backend *backend, int number, struct error *err) {
    return emulated_streams_event(streams_of_backend(backend), number, err);
}

static int wait_for_event(struct backend *backend, int number, struct error *err) {
    return emulated_streams_wait(streams_of_backend(backend), number, err);
}

static int reach(struct backend *backend, int number, struct error *err) {
    return emulated_streams_reach(streams_of_backend(backend), number, err);
}

static int capture_begin(struct backend *backend, struct error *err) {
    return emulated_streams_capture_begin(streams_of_backend(backend), err);
}

static int capture_end(struct backend *backend, void **ret_recording, struct error *err) {
    return emulated_streams_capture_end(streams_of_backend(backend), ret_recording, err);
}

static int replay(struct backend *backend, void *recording, struct error *err) {
    return emulated_streams_replay(streams_of_backend(backend), recording, err);
}

static void forget(struct backend *backend, void *recording) {
    (void)backend;
    emulated_streams_forget(recording);
}

#define ENQUEUED                                                                                   \
    .host_alloc = host_alloc, .host_free = host_free, .copy = copy, .clear = clear,                \
    .refresh_half = refresh_half, .half_gradient = cuda_half_gradient, .add = add,                 \
    .set_optimizer = set_optimizer, .update = update_weights, .optimizer_state = optimizer_state,  \
    .set_optimizer_state = set_optimizer_state, .squares = squares
static const struct backend_device at_once = {ENQUEUED};
static const struct backend_device with_streams = {ENQUEUED,
                                                   .select = select_stream,
                                                   .event = event,
                                                   .wait = wait_for_event,
                                                   .reach = reach,
                                                   .capture_begin = capture_begin,
                                                   .capture_end = capture_end,
                                                   .replay = replay,
                                                   .forget = forget};

#define TABLE(device_)                                                                             \
    {                                                                                              \
        .name = "cuda (on the host)", .device = (device_), .supports = supports, .query = query,   \
        .bind = bind, .release = release, .alloc = alloc, .free = host_memory_free,                \
        .copy_in = copy_now, .copy_out = copy_now, .sync = sync, .describe = describe,             \
        .close = close_backend,                                                                    \
    }
static const struct backend_table table_at_once = TABLE(&at_once);
static const struct backend_table table_with_streams = TABLE(&with_streams);

int emulated_open(struct backend **ret, bool whole, struct error *err) {
    struct emulated *e = calloc(1, sizeof(*e));
    struct control *control = calloc(1, sizeof(*control));
    if (e == NULL || control == NULL || (whole && ref_open(&e->ref, err) != 0)) {
        free(e);
        free(control);
        return error_no_memory(err, "emulated backend");
    }
    e->cuda.base.table = &table_at_once;
    e->cuda.multiprocessors = MULTIPROCESSORS;
    e->cuda.own_backward = true;
    e->cuda.control = control;
    control->state = (struct backend_optimizer_state){.finite = 1, .loss_scale = 1};
    *ret = &e->cuda.base;
    return 0;
}

int emulated_open_streams(struct backend **ret, enum streams_order order, uint64_t seed,
                          struct error *err) {
    if (emulated_open(ret, true, err) != 0)
        return -1;
    struct emulated *e = (struct emulated *)*ret;
    e->cuda.base.table = &table_with_streams;
    return emulated_streams_open(&e->streams, *ret, order, seed, err);
}

/* The kernel before a switch node chooses the body, and that one runs. */
static int choose(struct cuda *cuda, const struct switch_choice *choice,
                  const struct bound_step bodies[ROW_PARTS], struct error *err) {
    struct emulated *e = (struct emulated *)cuda;
    unsigned body = ROW_PARTS;
    if (launch_switch(NULL, (cudaGraphConditionalHandle)(uintptr_t)&body, choice) != cudaSuccess ||
        body >= ROW_PARTS)
        return error_set(err, EXIT_CODE_INTERNAL, "no share of the rows was chosen");
    e->chosen[body]++;
    return bodies[body].run(bodies[body].context, err);
}

void emulated_choose_rows(struct backend *backend, int chosen[ROW_PARTS]) {
    struct emulated *e = (struct emulated *)backend;
    e->cuda.choose = choose;
    e->chosen = chosen;
}

void emulated_compare(struct backend *backend, emulated_told *told, void *user) {
    struct emulated *e = (struct emulated *)backend;
    e->told = told;
    e->told_user = user;
}

void emulated_own_backward(struct backend *backend, bool own) {
    ((struct emulated *)backend)->cuda.own_backward = own;
}

void emulated_limit(struct backend *backend, size_t bytes) {
    ((struct emulated *)backend)->limit = bytes;
}

void emulated_fault(struct backend *backend, int waits) {
    struct emulated *e = (struct emulated *)backend;
    e->fault = waits;
    e->waits = 0;
}
