/* Weight gradients by oneDNN. The order in which a primitive sums depends on its number of
 * threads. So the pictures are cut into parts; their number depends on the shape; each part is one
 * thread's, with its own sums, which are added in order: results are the same for any number of
 * threads. Only large gradients in bf16, of few pictures or with sums that would take more memory
 * than the input, are computed by one primitive on all threads. They are made in the primitive's
 * layout and reordered into the OHWI arena. */
#include "trainer/backend/cpu/base/reduce.h"
#include "trainer/backend/cpu/conv/conv_plan.h"

/* Enough parts for many threads. Sums that fit one thread's cache cost little in any case. The
 * memory of this operator, from its start: one sum for each part, except that the first part of an
 * unpacked gradient is summed in the arena itself; then, for each part, widened copies of both
 * tensors and oneDNN's scratchpad. `query` counts it and bind_all() lays it out. */
enum { PARTS_ENOUGH = 8, SMALL_BYTES = 1 << 20 };

/* Bound step. Sums of a part are in the primitive's layout; `reorder` brings their total into
 * dw. */
struct weight {
    struct cpu_step step;
    struct dnn_parts parts;
    bool divided; /* each part runs on one thread; else there is a single one, which runs on all */
    struct parts sums;
    struct dnn_call reorder; /* primitive NULL: not needed */
};

/* How the work is cut, and the tensors of one part. */
struct cut {
    size_t parts;
    bool divided;
    struct tensor x, y;
    struct conv_tensors t;
};

/* The traffic that a gradient cannot avoid, against which the sums of its parts are weighed. */
static size_t read_bytes(const struct conv_tensors *t) {
    return tensor_bytes(t->x) + tensor_bytes(t->y);
}

/* Equal parts with sums that take no more memory than the input, or little. Checks that both
 * tensors have as many pictures, which a division would hide. */
static size_t parts_for(const struct conv_tensors *t) {
    size_t images = (size_t)t->x->shape.dim[0], others = (size_t)t->y->shape.dim[0], best = 1;
    size_t sums = (size_t)tensor_count(t->w) * sizeof(float);
    size_t most = read_bytes(t) > SMALL_BYTES ? read_bytes(t) : SMALL_BYTES;
    for (size_t parts = 2; parts <= DNN_PARTS_MOST && parts <= images; parts++)
        if (images % parts == 0 && others % parts == 0 && parts * sums <= most)
            best = parts;
    return best;
}

/* Only looks at shapes, so that ranks on different hosts choose alike. */
bool conv_dnn_weight_divides(const struct graph *graph, const struct op *op) {
    struct conv_tensors t = conv_tensors_of(graph, op);
    return parts_for(&t) >= PARTS_ENOUGH;
}

/* f32 is always divided: one primitive on all threads would give other bits for another number of
 * threads. CUT holds tensors with fewer pictures, and `t` points at them: CUT must not be
 * copied. */
static void cut_up(struct cut *cut, const struct graph *graph, const struct op *op) {
    cut->t = conv_tensors_of(graph, op);
    cut->parts = parts_for(&cut->t);
    cut->divided = cut->t.x->dtype == DTYPE_F32 || cut->parts >= PARTS_ENOUGH ||
                   read_bytes(&cut->t) <= SMALL_BYTES;
    if (!cut->divided)
        cut->parts = 1;
    cut->x = *cut->t.x;
    cut->y = *cut->t.y;
    cut->x.shape.dim[0] /= (int64_t)cut->parts;
    cut->y.shape.dim[0] /= (int64_t)cut->parts;
    cut->t.x = &cut->x;
    cut->t.y = &cut->y;
}

/* dnn_parts_end() also follows a plan for all threads; there it changes nothing. */
static int plan_part(struct conv_plan *plan, const struct cpu *cpu, const struct cut *cut,
                     const struct op *op, struct error *err) {
    if (cut->divided)
        dnn_parts_begin();
    int result = conv_plan_make(plan, cpu, &cut->t, op, err);
    dnn_parts_end(cpu);
    return result;
}

/* Bytes of one part, apart from its sums. */
static size_t part_scratch(const struct cpu *cpu, const struct cut *cut,
                           const struct conv_plan *plan) {
    return dnn_wide_bytes(cpu, &cut->x) + dnn_wide_bytes(cpu, &cut->y) +
           backend_aligned(plan->scratchpad);
}

/* The sums are counted in the primitive's layout, which may be padded beyond the weights. */
static size_t values_of(const struct conv_plan *plan) {
    return dnnl_memory_desc_get_size(plan->chosen) / sizeof(float);
}

static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    struct conv_plan plan = {0};
    struct cut cut;
    cut_up(&cut, graph, op);
    int result = plan_part(&plan, cpu, &cut, op, err);
    if (result == 0)
        ret_needs->scratch = part_scratch(cpu, &cut, &plan) * cut.parts +
                             parts_stride(values_of(&plan)) * (cut.parts - (plan.packs ? 0 : 1));
    conv_plan_done(&plan);
    return result;
}

/* Parts, their sum, and the layout, in this order; a failure leaves the gradient undefined. dw is
 * written only here. */
static int run(void *context, struct error *err) {
    struct weight *weight = context;
    const struct cpu *cpu = weight->step.cpu;
    int result = weight->divided ? dnn_parts_run(&weight->parts, err)
                                 : dnn_call_run(&weight->parts.part[0].call, cpu, err);
    if (result != 0)
        return -1;
    parts_add(&weight->sums);
    return weight->reorder.primitive != NULL ? dnn_call_run(&weight->reorder, cpu, err) : 0;
}

static void done(void *context) {
    struct weight *weight = context;
    dnn_parts_done(&weight->parts);
    dnn_call_done(&weight->reorder);
}

/* Inputs are constant to this operator, but oneDNN's memory objects take mutable addresses. */
static char *behind(const void *base, size_t bytes) {
    return (char *)(uintptr_t)base + bytes;
}

/* A part reads whole pictures, which lie one after another in both tensors. */
static int bind_part(struct weight *weight, size_t number, const struct cut *cut,
                     const struct conv_plan *plan, const struct op_addresses *addresses,
                     char *scratch, struct error *err) {
    const struct cpu *cpu = weight->step.cpu;
    struct dnn_call *call = &weight->parts.part[number].call;
    void *dy = behind(addresses->inputs[0], tensor_bytes(&cut->y) * number);
    void *x = behind(addresses->inputs[1], tensor_bytes(&cut->x) * number);
    if (dnn_call_init(call, plan->desc, err) != 0 ||
        dnn_call_tensor(call, cpu, DNNL_ARG_DIFF_DST, plan->y, &cut->y, dy, &scratch, err) != 0 ||
        dnn_call_tensor(call, cpu, DNNL_ARG_SRC, plan->x, &cut->x, x, &scratch, err) != 0 ||
        dnn_call_arg(call, cpu, DNNL_ARG_DIFF_WEIGHTS, plan->chosen,
                     parts_of(&weight->sums, number), err) != 0)
        return -1;
    return dnn_call_arg(call, cpu, DNNL_ARG_SCRATCHPAD,
                        dnn_chosen(plan->desc, dnnl_query_scratchpad_md), scratch, err);
}

/* Primitives are made for one thread if the parts are divided (dnn_parts_begin), as the plan was.
 * Addresses follow the order of the memory: sums, then each part's own. */
static int bind_all(struct weight *weight, const struct cut *cut, const struct conv_plan *plan,
                    const struct op_addresses *addresses, struct error *err) {
    size_t values = values_of(plan);
    char *sums = addresses->scratch;
    weight->sums = (struct parts){.cpu = weight->step.cpu,
                                  .first = addresses->outputs[0],
                                  .values = values,
                                  .parts = cut->parts};
    if (plan->packs) {
        weight->sums.first = (float *)(void *)sums;
        sums += parts_stride(values);
    }
    weight->sums.others = sums;
    char *scratch = sums + parts_stride(values) * (cut->parts - 1);
    int result = 0;
    if (cut->divided)
        dnn_parts_begin();
    for (size_t i = 0; i < cut->parts && result == 0; i++)
        result = bind_part(weight, i, cut, plan, addresses,
                           scratch + part_scratch(weight->step.cpu, cut, plan) * i, err);
    dnn_parts_end(weight->step.cpu);
    if (result != 0)
        return -1;
    return !plan->packs
               ? 0
               : dnn_call_reorder(&weight->reorder, weight->step.cpu, plan->chosen,
                                  weight->sums.first, plan->master, addresses->outputs[0], err);
}

/* Scratch is laid out by bind_all(); on failure the caller (cpu.c) releases what was made. */
static int bind(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                const struct op_addresses *addresses, struct backend_bound *ret_bound,
                struct error *err) {
    struct weight *weight = cpu_step_new(cpu, sizeof *weight, run, done, ret_bound, err);
    if (weight == NULL)
        return -1;
    struct conv_plan plan = {0};
    struct cut cut;
    cut_up(&cut, graph, op);
    weight->divided = cut.divided;
    weight->parts.cpu = cpu;
    weight->parts.count = cut.parts;
    int result = plan_part(&plan, cpu, &cut, op, err);
    if (result == 0)
        result = bind_all(weight, &cut, &plan, addresses, err);
    conv_plan_done(&plan);
    return result;
}

/* oneDNN takes every weight gradient; the table in conv_operators.c asks it last. */
static bool has(const struct cpu *cpu, const struct graph *graph, const struct op *op) {
    (void)cpu;
    (void)graph;
    return op->kind == OP_CONV2D_GRAD_WEIGHT;
}

const struct conv_kernel conv_dnn_weight_kernel = {
    .family = CPU_CONVS_ONEDNN, .has = has, .query = query, .bind = bind};
