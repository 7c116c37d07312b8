/* Linear layer and its gradients as oneDNN matrix products: y = x w' + b with x [N,I], w [O,I].
 * Forward and data gradient keep w packed in the activation type and the layout that the product
 * chose; y is f32. The result is cut into parts, by rows or by columns; their number depends on the
 * shape; each is computed by one thread. */
#include "trainer/backend/cpu/base/columns.h"
#include "trainer/backend/cpu/base/dnn.h"

/* oneDNN cuts a matrix product by the number of threads, and with it the order of its sums.
 * Describing every part for one thread makes the result a function of shapes alone. Parts by
 * columns each read their own part of the weights and all of x, parts by rows the other way round;
 * both directions at once never occur.
 *
 * The file follows one product through its life: its sizes and cut (struct linear_sizes), oneDNN's
 * descriptors of one part (struct product), addresses of each part (struct places), and the calls.
 * The plan is made twice, by `query` for the memory and by `bind` for the calls.
 *
 * Where oneDNN has no bf16, whole matrices are widened once, before the parts run, because parts
 * share them. The call `whole` has no primitive and only carries these conversions. */

struct linear {
    struct cpu_step step;
    struct dnn_call whole; /* no primitive: shared by all parts */
    struct dnn_parts parts;
    struct dnn_call reorder[DNN_PARTS_MOST]; /* packs the weights; primitive NULL: not needed */
    int reorders;
    struct columns bias; /* bias gradient: the column sums of dy; `sums` NULL: not needed */
};

/* --- what is computed ------------------------------------------------------------------------- */

/* Distances between two rows and two columns of a matrix, in values. */
struct steps {
    int64_t row, column;
};

/* result [rows, columns] = first [rows, depth] second [depth, columns], and how it is cut. */
struct linear_sizes {
    int64_t rows, depth, columns;
    struct steps first, second, result; /* second: of the master weights, if it is packed */
    bool packed;
    size_t row_parts, column_parts; /* one of them is 1 */
};

enum { PARTS_WANTED = 16, ROWS_LEAST = 256, COLUMNS_LEAST = 64 /* of a part */ };

/* Equal parts. Only numbers that divide TOTAL evenly: all parts then share one descriptor and
 * primitive. None has fewer than LEAST rows or columns. */
static size_t parts_for(int64_t total, int64_t least) {
    size_t best = 1;
    for (size_t parts = 2; parts <= PARTS_WANTED; parts++)
        if (total % (int64_t)parts == 0 && total / (int64_t)parts >= least)
            best = parts;
    return best;
}

/* All three operators are one product with other strides: forward x w', data gradient dy w, weight
 * gradient dy' x. Transposition costs no copy, as it only exchanges the two strides. The inner
 * length comes from the count of the second operand, as x may have more than two dimensions. */
static struct linear_sizes sizes_of(const struct graph *graph, const struct op *op) {
    const struct tensor *first = cpu_input(graph, op, 0), *second = cpu_input(graph, op, 1);
    bool forward = op->kind == OP_LINEAR, weight = op->kind == OP_LINEAR_GRAD_WEIGHT;
    const struct tensor *y = forward ? cpu_output(graph, op, 0) : first;
    int64_t n = y->shape.dim[0], out = y->shape.dim[1], in = tensor_count(second);
    in /= weight ? n : out;
    struct linear_sizes s;
    if (forward)
        s = (struct linear_sizes){.rows = n,
                                  .depth = in,
                                  .columns = out,
                                  .first = {in, 1},
                                  .second = {1, in},
                                  .packed = true};
    else if (!weight)
        s = (struct linear_sizes){.rows = n,
                                  .depth = out,
                                  .columns = in,
                                  .first = {out, 1},
                                  .second = {in, 1},
                                  .packed = true};
    else
        s = (struct linear_sizes){
            .rows = out, .depth = n, .columns = in, .first = {1, out}, .second = {in, 1}};
    s.result = (struct steps){s.columns, 1};
    s.row_parts = parts_for(s.rows, weight ? COLUMNS_LEAST : ROWS_LEAST);
    s.column_parts = parts_for(s.columns, COLUMNS_LEAST);
    if (s.column_parts >= s.row_parts)
        s.row_parts = 1;
    else
        s.column_parts = 1;
    return s;
}

/* Sizes of a part. They are equal for all parts. */
static int64_t part_rows(const struct linear_sizes *s) {
    return s->rows / (int64_t)s->row_parts;
}

static int64_t part_columns(const struct linear_sizes *s) {
    return s->columns / (int64_t)s->column_parts;
}

/* The number of calls; at most PARTS_WANTED. */
static size_t parts_of_all(const struct linear_sizes *s) {
    return s->row_parts * s->column_parts;
}

/* --- what oneDNN makes of a part -------------------------------------------------------------- */

/* Descriptors of one part and the primitive that oneDNN chose for it. Zeroed before product_make();
 * freed with product_done(), also after an error. */
struct product {
    struct linear_sizes sizes;
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

/* Any strides are allowed, so a transposed operand needs no memory of its own. */
static int desc_2(dnnl_memory_desc_t *ret, int64_t rows, int64_t columns, struct steps steps,
                  dnnl_data_type_t type, struct error *err) {
    dnnl_dims_t dims = {rows, columns}, strides = {steps.row, steps.column};
    return dnn_check(dnnl_memory_desc_create_with_strides(ret, 2, dims, type, strides),
                     "matrix descriptor", err);
}

/* The second operand is left to the primitive if it is packed, and the master weights keep their
 * layout. The bias exists only forward; it is a row that is added to every row of the result. */
static int describe(struct product *p, const struct cpu *cpu, const struct graph *graph,
                    const struct op *op, struct error *err) {
    const struct linear_sizes *s = &p->sizes;
    int64_t rows = part_rows(s), columns = part_columns(s);
    dnnl_data_type_t type = dnn_type(cpu, cpu_input(graph, op, 0)->dtype);
    dnnl_dims_t second = {s->depth, columns};
    if (desc_2(&p->first, rows, s->depth, s->first, type, err) != 0 ||
        desc_2(&p->result, rows, columns, s->result, dnn_type(cpu, cpu_output(graph, op, 0)->dtype),
               err) != 0)
        return -1;
    if (!s->packed)
        return desc_2(&p->second, s->depth, columns, s->second, type, err);
    if (dnn_desc_any(&p->second, 2, second, type, err) != 0 ||
        desc_2(&p->master, s->depth, columns, s->second, dnnl_f32, err) != 0)
        return -1;
    return op->kind != OP_LINEAR
               ? 0
               : desc_2(&p->bias, 1, columns, (struct steps){columns, 1}, dnnl_f32, err);
}

/* The ReLU of a fused forward pass is an epilogue of the product. The number of threads is 1 while
 * oneDNN describes, because this decides how it cuts the work. */
static int product_make(struct product *p, const struct cpu *cpu, const struct graph *graph,
                        const struct op *op, struct error *err) {
    dnnl_primitive_attr_t attr = NULL;
    p->sizes = sizes_of(graph, op);
    if (describe(p, cpu, graph, op, err) != 0 || dnn_attr(&attr, err) != 0)
        return -1;
    int result = 0;
    if (op->kind == OP_LINEAR && op->attr.relu)
        result = dnn_attr_epilogue(attr, NULL, true, err);
    dnn_parts_begin();
    if (result == 0)
        result = dnn_check(dnnl_matmul_primitive_desc_create(&p->desc, cpu->engine, p->first,
                                                             p->second, p->bias, p->result, attr),
                           "matrix product", err);
    dnn_parts_end(cpu);
    dnnl_primitive_attr_destroy(attr);
    return result;
}

/* Bytes for one part. Parts run at the same time, so each has its own. */
static size_t scratchpad_of(const struct product *p) {
    return backend_aligned(dnn_chosen_bytes(p->desc, dnnl_query_scratchpad_md));
}

/* Packed weights of a part; parts that differ in their rows share them. */
static size_t packed_of(const struct product *p) {
    return backend_aligned(dnn_chosen_bytes(p->desc, dnnl_query_weights_md));
}

/* Scratch: widened operands and result, a scratchpad for each part, and before them, for the weight
 * gradient, the partial column sums of the bias. bind_grad_weight() and find_places() take them in
 * this order. The packed weights have a part for each part of the columns; parts by rows read the
 * same one. */
static int query(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                 struct backend_needs *ret_needs, struct error *err) {
    struct product p = {0};
    int result = product_make(&p, cpu, graph, op, err);
    if (result == 0) {
        ret_needs->scratch = dnn_wide_bytes(cpu, cpu_input(graph, op, 0)) +
                             dnn_wide_bytes(cpu, cpu_input(graph, op, 1)) +
                             dnn_wide_bytes(cpu, cpu_output(graph, op, 0)) +
                             scratchpad_of(&p) * parts_of_all(&p.sizes);
        const struct shape *dy = &cpu_input(graph, op, 0)->shape;
        if (op->kind == OP_LINEAR_GRAD_WEIGHT)
            ret_needs->scratch += backend_aligned(columns_scratch(cpu_rows(dy), cpu_channels(dy)));
        else
            ret_needs->packed = packed_of(&p) * p.sizes.column_parts;
    }
    product_done(&p);
    return result;
}

/* --- running ---------------------------------------------------------------------------------- */

/* Conversions are on all threads, parts on one each. */
static int run(void *context, struct error *err) {
    struct linear *linear = context;
    dnn_call_widen(&linear->whole, linear->step.cpu);
    if (dnn_parts_run(&linear->parts, err) != 0)
        return -1;
    dnn_call_narrow(&linear->whole, linear->step.cpu);
    return 0;
}

/* One reorder for each part of the columns, which are all there are to pack. */
static int run_refresh(void *context, struct error *err) {
    struct linear *linear = context;
    for (int i = 0; i < linear->reorders; i++)
        if (dnn_call_run(&linear->reorder[i], linear->step.cpu, err) != 0)
            return -1;
    return 0;
}

/* The bias gradient needs dy alone, and reads it before the product does. */
static int run_grad_weight(void *context, struct error *err) {
    struct linear *linear = context;
    if (linear->bias.sums != NULL)
        columns_run(&linear->bias);
    return run(linear, err);
}

/* `reorders` counts those that were begun, so this also frees after a failure. */
static void done(void *context) {
    struct linear *linear = context;
    dnn_call_done(&linear->whole);
    dnn_parts_done(&linear->parts);
    for (int i = 0; i < linear->reorders; i++)
        dnn_call_done(&linear->reorder[i]);
}

/* Addresses of the operands. They are char pointers, as values may have 2 or 4 bytes. */
struct places {
    char *first, *second, *bias, *result, *scratch;
    size_t first_size, second_size, result_size; /* of a value */
};

/* Addresses of the whole operands, widened ones in scratch. The order of dnn_call_values() is that
 * of `query`. */
static struct places find_places(struct linear *linear, const struct graph *graph,
                                 const struct op *op, const struct op_addresses *addresses,
                                 char *scratch) {
    const struct cpu *cpu = linear->step.cpu;
    const struct tensor *first = cpu_input(graph, op, 0), *second = cpu_input(graph, op, 1);
    const struct tensor *result = cpu_output(graph, op, 0);
    struct dnn_call *whole = &linear->whole;
    bool packed = op->kind != OP_LINEAR_GRAD_WEIGHT;
    struct places at = {.bias = op->kind == OP_LINEAR ? addresses->inputs[2] : NULL};
    at.first = dnn_call_values(whole, cpu, first, addresses->inputs[0], false, &scratch);
    at.second = packed ? addresses->packed
                       : dnn_call_values(whole, cpu, second, addresses->inputs[1], false, &scratch);
    at.result = dnn_call_values(whole, cpu, result, addresses->outputs[0], true, &scratch);
    at.first_size = dnnl_data_type_size(dnn_type(cpu, first->dtype));
    at.second_size = dnnl_data_type_size(dnn_type(cpu, second->dtype));
    at.result_size = dnnl_data_type_size(dnn_type(cpu, result->dtype));
    at.scratch = scratch;
    return at;
}

/* Returns those of the part that begins with ROW and COLUMN. */
static struct places places_at(const struct places *all, const struct product *p, size_t number) {
    const struct linear_sizes *s = &p->sizes;
    size_t row = number / s->column_parts * (size_t)part_rows(s);
    size_t part = number % s->column_parts, column = part * (size_t)part_columns(s);
    struct places at = *all;
    at.first += row * (size_t)s->first.row * at.first_size;
    at.second +=
        s->packed ? part * packed_of(p) : column * (size_t)s->second.column * at.second_size;
    at.result += (row * (size_t)s->result.row + column) * at.result_size;
    at.scratch += number * scratchpad_of(p);
    if (at.bias != NULL)
        at.bias += column * sizeof(float);
    return at;
}

/* DESC is the same for all parts; only addresses differ. A product without bias has no such
 * argument. */
static int bind_part(struct dnn_call *call, const struct cpu *cpu, const struct product *p,
                     const struct places *at, struct error *err) {
    if (dnn_call_init(call, p->desc, err) != 0 ||
        dnn_call_arg(call, cpu, DNNL_ARG_SRC, p->first, at->first, err) != 0 ||
        dnn_call_arg(call, cpu, DNNL_ARG_WEIGHTS, dnn_chosen(p->desc, dnnl_query_weights_md),
                     at->second, err) != 0 ||
        dnn_call_arg(call, cpu, DNNL_ARG_DST, p->result, at->result, err) != 0)
        return -1;
    if (p->bias != NULL && dnn_call_arg(call, cpu, DNNL_ARG_BIAS, p->bias, at->bias, err) != 0)
        return -1;
    return dnn_call_arg(call, cpu, DNNL_ARG_SCRATCHPAD,
                        dnn_chosen(p->desc, dnnl_query_scratchpad_md), at->scratch, err);
}

/* A failed part ends the loop's work; parts that were made are freed with the step. */
static int bind_parts(struct linear *linear, const struct product *p, const struct graph *graph,
                      const struct op *op, const struct op_addresses *addresses, char *scratch,
                      struct error *err) {
    const struct places all = find_places(linear, graph, op, addresses, scratch);
    linear->parts.cpu = linear->step.cpu;
    linear->parts.count = parts_of_all(&p->sizes);
    int result = 0;
    dnn_parts_begin();
    for (size_t i = 0; i < linear->parts.count; i++) {
        const struct places at = places_at(&all, p, i);
        if (result == 0)
            result = bind_part(&linear->parts.part[i].call, linear->step.cpu, p, &at, err);
    }
    dnn_parts_end(linear->step.cpu);
    return result;
}

/* Columns of the product are outputs of the layer or, for the data gradient, inputs; either way the
 * master weights of the next part begin part_columns() column strides further. */
static int bind_reorders(struct linear *linear, const struct product *p, const struct graph *graph,
                         const struct op *op, const struct op_addresses *addresses,
                         struct error *err) {
    const struct linear_sizes *s = &p->sizes;
    size_t step = (size_t)(part_columns(s) * s->second.column) * sizeof(float);
    for (size_t i = 0; i < s->column_parts; i++) {
        linear->reorders++;
        if (dnn_call_pack(&linear->reorder[i], linear->step.cpu, cpu_input(graph, op, 0)->dtype,
                          p->master, (char *)addresses->inputs[1] + step * i,
                          dnn_chosen(p->desc, dnnl_query_weights_md),
                          (char *)addresses->packed + packed_of(p) * i, err) != 0)
            return -1;
    }
    return 0;
}

/* Forward pass and data gradient. Both pack w, each in the layout that its own product chose. */
static int bind_packed(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                       const struct op_addresses *addresses, struct backend_bound *ret_bound,
                       struct error *err) {
    struct linear *linear = cpu_step_new(cpu, sizeof *linear, run, done, ret_bound, err);
    if (linear == NULL)
        return -1;
    struct product p = {0};
    int result = product_make(&p, cpu, graph, op, err);
    if (result == 0)
        result = bind_parts(linear, &p, graph, op, addresses, addresses->scratch, err);
    if (result == 0)
        result = bind_reorders(linear, &p, graph, op, addresses, err);
    ret_bound->refresh = (struct bound_step){.run = run_refresh, .context = linear};
    product_done(&p);
    return result;
}

/* dw goes to the arena without packing; db, the second output, may be absent. */
static int bind_grad_weight(const struct cpu *cpu, const struct graph *graph, const struct op *op,
                            const struct op_addresses *addresses, struct backend_bound *ret_bound,
                            struct error *err) {
    struct linear *linear =
        cpu_step_new(cpu, sizeof *linear, run_grad_weight, done, ret_bound, err);
    if (linear == NULL)
        return -1;
    const struct tensor *dy = cpu_input(graph, op, 0);
    linear->bias = (struct columns){.loops = cpu->loops,
                                    .threads = cpu->threads,
                                    .x = addresses->inputs[0],
                                    .elem = cpu_elem(dy->dtype),
                                    .rows = cpu_rows(&dy->shape),
                                    .channels = cpu_channels(&dy->shape),
                                    .sums = addresses->outputs[1],
                                    .partial = addresses->scratch};
    char *scratch = (char *)addresses->scratch +
                    backend_aligned(columns_scratch(linear->bias.rows, linear->bias.channels));
    struct product p = {0};
    int result = product_make(&p, cpu, graph, op, err);
    if (result == 0)
        result = bind_parts(linear, &p, graph, op, addresses, scratch, err);
    product_done(&p);
    return result;
}

const struct cpu_operator cpu_linear_forward = {NULL, query, bind_packed};
const struct cpu_operator cpu_linear_grad_data = {NULL, query, bind_packed};
const struct cpu_operator cpu_linear_grad_weight = {NULL, query, bind_grad_weight};
