/* The linear layer and its gradients as matrix products of oneDNN: y = x w' + b with x [N,I],
 * w [O,I]. Forward and data gradient keep w packed in the activation type and the layout that the
 * product chose; y is f32. */
#include "cpu_base/columns.h"
#include "cpu_base/dnn.h"

struct linear {
    struct cpu_step step;
    struct dnn_call call;
    struct dnn_call reorder;
    struct columns bias; /* bias gradient: the column sums of dy; `sums` NULL: not wanted */
};

/* One matrix product: result [m, n] = first [m, k] second [k, n]. */
struct product {
    dnnl_memory_desc_t first, second, bias, result, master;
    dnnl_primitive_desc_t desc;
};

static void product_done(struct product *p) {
    dnnl_memory_desc_t descs[] = {p->first, p->second, p->bias, p->result, p->master};
    for (size_t i = 0; i < sizeof(descs) / sizeof(descs[0]); i++)
        if (descs[i] != NULL)
            dnnl_memory_desc_destroy(descs[i]);
    if (p->desc != NULL)
        dnnl_primitive_desc_destroy(p->desc);
    *p = (struct product){0};
}

static int desc_2(dnnl_memory_desc_t *ret, int64_t rows, int64_t columns, bool transposed,
                  dnnl_data_type_t type, struct error *err) {
    dnnl_dims_t dims = {rows, columns};
    dnnl_format_tag_t tag = transposed ? dnnl_ba : dnnl_ab;
    return dnn_check(dnnl_memory_desc_create_with_tag(ret, 2, dims, type, tag), "matrix descriptor",
                     err);
}

/* Values of a row of weights. */
static int64_t inputs_of(const struct tensor *w) {
    return tensor_count(w) / w->shape.dim[0];
}

static int describe_forward(struct product *p, const struct cpu *cpu, const struct tensor *x,
                            const struct tensor *w, const struct tensor *y, struct error *err) {
    int64_t n = y->shape.dim[0], in = inputs_of(w), out = w->shape.dim[0];
    dnnl_dims_t second = {in, out};
    if (desc_2(&p->first, n, in, false, dnn_type(cpu, x->dtype), err) != 0 ||
        dnn_desc_any(&p->second, 2, second, dnn_type(cpu, x->dtype), err) != 0 ||
        desc_2(&p->bias, 1, out, false, dnnl_f32, err) != 0 ||
        desc_2(&p->master, in, out, true, dnnl_f32, err) != 0)
        return -1;
    return desc_2(&p->result, n, out, false, dnn_type(cpu, y->dtype), err);
}

static int describe_data(struct product *p, const struct cpu *cpu, const struct tensor *dy,
                         const struct tensor *w, struct error *err) {
    int64_t n = dy->shape.dim[0], in = inputs_of(w), out = w->shape.dim[0];
    dnnl_dims_t second = {out, in};
    if (desc_2(&p->first, n, out, false, dnn_type(cpu, dy->dtype), err) != 0 ||
        dnn_desc_any(&p->second, 2, second, dnn_type(cpu, dy->dtype), err) != 0 ||
        desc_2(&p->master, out, in, false, dnnl_f32, err) != 0)
        return -1;
    return desc_2(&p->result, n, in, false, dnn_type(cpu, dy->dtype), err);
}

static int describe_weight(struct product *p, const struct cpu *cpu, const struct tensor *dy,
                           const struct tensor *x, struct error *err) {
    int64_t n = dy->shape.dim[0], in = tensor_count(x) / n, out = dy->shape.dim[1];
    if (desc_2(&p->first, out, n, true, dnn_type(cpu, dy->dtype), err) != 0 ||
        desc_2(&p->second, n, in, false, dnn_type(cpu, x->dtype), err) != 0)
        return -1;
    return desc_2(&p->result, out, in, false, dnnl_f32, err);
}

static int product_make(struct product *p, const struct cpu *cpu, const struct graph *graph,
                        const struct op *op, struct error *err) {
    const struct tensor *first = cpu_input(graph, op, 0), *second = cpu_input(graph, op, 1);
    int result;
    if (op->kind == OP_LINEAR)
        result = describe_forward(p, cpu, first, second, cpu_output(graph, op, 0), err);
    else if (op->kind == OP_LINEAR_GRAD_DATA)
        result = describe_data(p, cpu, first, second, err);
    else
        result = describe_weight(p, cpu, first, second, err);
    dnnl_primitive_attr_t attr = NULL;
    if (result != 0 || dnn_attr(&attr, err) != 0)
        return -1;
    if (op->kind == OP_LINEAR && op->attr.relu)
        result = dnn_attr_epilogue(attr, NULL, true, err);
    if (result == 0)
        result = dnn_check(dnnl_matmul_primitive_desc_create(&p->desc, cpu->engine, p->first,
                                                             p->second, p->bias, p->result, attr),
                           "matrix product", err);
    dnnl_primitive_attr_destroy(attr);
    return result;
}

static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    struct product p = {0};
    int result = product_make(&p, cpu, graph, op, err);
    if (result == 0) {
        ret_needs->scratch = dnn_wide_bytes(cpu, cpu_input(graph, op, 0)) +
                             dnn_wide_bytes(cpu, cpu_input(graph, op, 1)) +
                             dnn_wide_bytes(cpu, cpu_output(graph, op, 0)) +
                             dnn_chosen_bytes(p.desc, dnnl_query_scratchpad_md);
        const struct shape *dy = &cpu_input(graph, op, 0)->shape;
        if (op->kind == OP_LINEAR_GRAD_WEIGHT)
            ret_needs->scratch += cpu_aligned(columns_scratch(cpu_rows(dy), cpu_channels(dy)));
        else
            ret_needs->packed = dnn_chosen_bytes(p.desc, dnnl_query_weights_md);
    }
    product_done(&p);
    return result;
}

static int run(void *context, struct error *err) {
    struct linear *linear = context;
    return dnn_call_run(&linear->call, linear->step.cpu, err);
}

static int run_refresh(void *context, struct error *err) {
    struct linear *linear = context;
    return dnn_call_run(&linear->reorder, linear->step.cpu, err);
}

static int run_grad_weight(void *context, struct error *err) {
    struct linear *linear = context;
    if (linear->bias.sums != NULL)
        columns_run(&linear->bias);
    return dnn_call_run(&linear->call, linear->step.cpu, err);
}

static void done(void *context) {
    struct linear *linear = context;
    dnn_call_done(&linear->call);
    dnn_call_done(&linear->reorder);
}

/* The second operand is packed weights, of f32 in the graph, or a tensor. */
static int bind_call(struct linear *linear, const struct product *p, const struct graph *graph,
                     const struct op *op, void *second, const struct backend_site *site,
                     char *scratch, struct error *err) {
    const struct cpu *cpu = linear->step.cpu;
    struct dnn_call *call = &linear->call;
    if (dnn_call_init(call, p->desc, err) != 0 ||
        dnn_call_tensor(call, cpu, DNNL_ARG_SRC, p->first, cpu_input(graph, op, 0), site->inputs[0],
                        &scratch, err) != 0 ||
        dnn_call_tensor(call, cpu, DNNL_ARG_WEIGHTS, dnn_chosen(p->desc, dnnl_query_weights_md),
                        cpu_input(graph, op, 1), second, &scratch, err) != 0 ||
        dnn_call_tensor(call, cpu, DNNL_ARG_DST, p->result, cpu_output(graph, op, 0),
                        site->outputs[0], &scratch, err) != 0)
        return -1;
    if (p->bias != NULL &&
        dnn_call_arg(call, cpu, DNNL_ARG_BIAS, p->bias, site->inputs[2], err) != 0)
        return -1;
    return dnn_call_arg(call, cpu, DNNL_ARG_SCRATCHPAD,
                        dnn_chosen(p->desc, dnnl_query_scratchpad_md), scratch, err);
}

static int bind_packed(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                       const struct backend_site *site, struct backend_bound *ret_bound,
                       struct error *err) {
    struct linear *linear = cpu_step_new(cpu, sizeof *linear, run, done, ret_bound, err);
    if (linear == NULL)
        return -1;
    struct product p = {0};
    int result = product_make(&p, cpu, graph, op, err);
    if (result == 0)
        result = bind_call(linear, &p, graph, op, site->packed, site, site->scratch, err);
    if (result == 0)
        result = dnn_call_pack(&linear->reorder, cpu, cpu_input(graph, op, 0)->dtype, p.master,
                               site->inputs[1], dnn_chosen(p.desc, dnnl_query_weights_md),
                               site->packed, err);
    ret_bound->refresh = (struct bound_step){.run = run_refresh, .context = linear};
    product_done(&p);
    return result;
}

static int bind_grad_weight(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                            const struct backend_site *site, struct backend_bound *ret_bound,
                            struct error *err) {
    struct linear *linear =
        cpu_step_new(cpu, sizeof *linear, run_grad_weight, done, ret_bound, err);
    if (linear == NULL)
        return -1;
    const struct tensor *dy = cpu_input(graph, op, 0);
    linear->bias = (struct columns){.loops = cpu->loops,
                                    .threads = cpu->threads,
                                    .x = site->inputs[0],
                                    .elem = cpu_elem(dy->dtype),
                                    .rows = cpu_rows(&dy->shape),
                                    .channels = cpu_channels(&dy->shape),
                                    .sums = site->outputs[1],
                                    .partial = site->scratch};
    char *scratch = (char *)site->scratch +
                    cpu_aligned(columns_scratch(linear->bias.rows, linear->bias.channels));
    struct product p = {0};
    int result = product_make(&p, cpu, graph, op, err);
    if (result == 0)
        result = bind_call(linear, &p, graph, op, site->inputs[1], site, scratch, err);
    product_done(&p);
    return result;
}

const struct cpu_operator cpu_linear_forward = {NULL, query, bind_packed};
const struct cpu_operator cpu_linear_grad_data = {NULL, query, bind_packed};
const struct cpu_operator cpu_linear_grad_weight = {NULL, query, bind_grad_weight};
