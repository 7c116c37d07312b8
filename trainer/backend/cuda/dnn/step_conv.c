#include "trainer/backend/cuda/dnn/conv_plan.h"

#include "trainer/backend/cuda/dnn/conv_table.h"
#include "trainer/backend/cuda/dnn/dnn_plan.h"

/* Queries ask for the choice of a plan (conv_plan.c), which decides the workspace; binding settles
 * it, by timing on the real buffers if that was asked for, and binds addresses to ids by the table
 * (conv_table.c). A step then is one call of cuDNN, followed, for some kinds, by a small kernel of
 * this backend.
 *
 * Scratch: the workspace first, aligned for cuDNN, then packed gradients or results that are not
 * used; an operator has at most one of the two. */

/* A convolution pass, plain or fused. cuDNN needs weights in the activation's type and with the
 * input's channels. The half-precision copy of the parameters has that form. Where it is not
 * usable, `packed` is: a stem's channels are padded, a frozen norm is folded in, and constants
 * have no such copy. A weight gradient is computed in that form, too; if the graph needs it in f32
 * (a stem's, or one that is added to another), it is converted after the product. */
struct conv_step {
    struct cuda_step step;
    const struct dnn_plan *plan;
    struct dnn_pack pack;
    /* weights: [out * kernel * kernel, in] */
    size_t rows;
    int in, in_padded; /* inputs of an output: a group's */
    void *arena;
    void *packed, *bias;   /* what cuDNN reads or writes */
    size_t packed_bytes;   /* bytes of the weights there that tuning may overwrite */
    struct fold_args fold; /* for a bias or a frozen norm, and its gradients */
    void *spare;           /* results that are not used, one after another */
    /* of a data gradient followed by norm gradients */
    struct norm_coefficients_args coefficients[LAUNCH_NORMS_MAX];
    int norms;
};

/* Only OP_CONV2D_AFFINE has one. */
static bool has_bias(const struct op *op) {
    return op->kind == OP_CONV2D_AFFINE;
}

/* Returns the slot of the gamma of a frozen norm after OP's convolution, which its variance
 * follows; -1: none. */
static int gamma_slot(const struct op *op) {
    int slot = op->kind == OP_CONV2D_AFFINE               ? AFFINE_GAMMA
               : op->kind == OP_CONV2D_GRAD_DATA_AFFINE   ? AFFINE_GRAD_GAMMA
               : op->kind == OP_CONV2D_GRAD_WEIGHT_AFFINE ? 2
                                                          : -1;
    return slot >= 0 && op->inputs[slot] != TENSOR_NONE ? slot : -1;
}

/* Returns true if cuDNN reads the parameters' half-precision copy, bias included. A folded norm
 * changes the weights, so their copy does not serve. */
static bool reads_half(const struct graph *graph, const struct op *op, const struct tensor *w,
                       const struct dnn_conv *conv) {
    return cuda_has_half(graph, w) && dnn_conv_filter_channels(conv) == w->shape.dim[3] &&
           gamma_slot(op) < 0 &&
           (!has_bias(op) || cuda_has_half(graph, cuda_input(graph, op, AFFINE_BIAS)));
}

/* Returns true if W is a gradient that cuDNN writes directly. The optimizer reads such gradients in
 * their type. */
static bool is_made_half(const struct graph *graph, const struct tensor *w,
                         const struct dnn_conv *conv) {
    return w->role == TENSOR_GRADIENT && w->dtype == graph->dtype &&
           dnn_conv_filter_channels(conv) == w->shape.dim[3];
}

/* Returns true if cuDNN can use neither that nor the arena's own weights. In f32, weights of the
 * right width are read in place. */
static bool needs_packing(const struct graph *graph, const struct op *op, const struct tensor *w,
                          const struct dnn_conv *conv) {
    if (reads_half(graph, op, w, conv) || is_made_half(graph, w, conv))
        return false;
    bool folded = has_bias(op) || (gamma_slot(op) >= 0 && op->kind == OP_CONV2D_GRAD_DATA_AFFINE);
    return graph->dtype != DTYPE_F32 || dnn_conv_filter_channels(conv) != w->shape.dim[3] || folded;
}

/* Padded to the channels that cuDNN reads, and aligned, because a bias may follow. */
static size_t weight_bytes(const struct graph *graph, const struct tensor *w,
                           const struct dnn_conv *conv) {
    size_t bytes = cuda_rows(w) * (size_t)dnn_conv_filter_channels(conv) * dtype_size(graph->dtype);
    return backend_aligned(bytes);
}

/* Weights, then the bias, both in the activation's type; 0 if nothing is packed. */
static size_t packed_bytes(const struct graph *graph, const struct op *op, const struct tensor *w,
                           const struct dnn_conv *conv) {
    if (!needs_packing(graph, op, w, conv))
        return 0;
    size_t bias = has_bias(op) ? (size_t)w->shape.dim[0] * dtype_size(graph->dtype) : 0;
    return weight_bytes(graph, w, conv) + bias;
}

/* Outputs that the operator lacks still have ids in the graph, and cuDNN writes them. */
static bool is_spare(const struct conv_row *row, const struct op *op) {
    return row->fill == CONV_SPARE ||
           (row->fill == CONV_TENSOR && row->output && op->outputs[row->slot] == TENSOR_NONE);
}

/* For these the "weights" of the table are an output. */
static bool is_weight_gradient(const struct conv_table *form) {
    return form->pattern == DNN_GRAD_WEIGHT || form->pattern == DNN_NORM_GRAD_WEIGHT;
}

/* Returns how many rows of input channels a form writes that are not used. A part is one row of
 * in_channels floats. */
static size_t spare_rows(const struct conv_table *form, const struct op *op) {
    size_t rows = 0;
    for (const struct conv_row *row = form->rows; row->uid != 0; row++)
        if (is_spare(row, op))
            rows += row->parts > 0 ? (size_t)row->parts : 1;
    return rows;
}

/* The first query of a shape makes its choice of plans; later ones of the same shape share it.
 * Packed weights are kept between steps, a packed gradient is scratch. */
static int query_conv(struct cuda *cuda, const struct graph *graph, const struct op *op,
                      struct backend_needs *needs, struct error *err) {
    const struct conv_table *form = conv_table(op);
    struct dnn_conv conv = conv_table_shape(form, graph, op);
    const struct tensor *w = conv_table_weights(form, graph, op);
    struct conv_choice *choice = NULL;
    if (conv_choice_get(cuda, form->pattern, graph->dtype, &conv, &choice, err) != 0)
        return error_wrap(err, "%s", op->name);
    needs->scratch = cuda_workspace_bytes((size_t)choice->workspace) +
                     spare_rows(form, op) * (size_t)conv.in_channels * sizeof(float);
    if (is_weight_gradient(form))
        needs->scratch += packed_bytes(graph, op, w, &conv);
    else
        needs->packed = packed_bytes(graph, op, w, &conv);
    return 0;
}

/* On a simulated GPU the call is counted and nothing runs. */
static int run_conv(void *context, struct error *err) {
    struct conv_step *s = context;
    if (cuda_is_counted(s->step.cuda))
        return 0;
    if (dnn_pack_run(&s->pack, s->step.cuda->convs->dnn, s->plan, err) != 0)
        return error_wrap(err, "%s %s", s->step.name, s->step.shape);
    return 0;
}

/* cuDNN does not document the meaning of the coefficients that its reduction can write, so they
 * are computed here from its dgamma and dbeta, which are documented. */
static int run_grad_data_norm(void *context, struct error *err) {
    struct conv_step *s = context;
    if (run_conv(context, err) != 0)
        return -1;
    cudaError_t status = launch_norm_coefficients(s->step.cuda->stream, s->coefficients, s->norms);
    return cuda_step_check(&s->step, status, err);
}

/* One set for each norm that the convolution's input comes from: a dual join has two. */
static void fill_coefficients(struct conv_step *s, const struct graph *graph, const struct op *op,
                              const struct op_addresses *addresses) {
    const struct tensor *x = cuda_input(graph, op, GRAD_DATA_NORM_X);
    s->coefficients[0] = (struct norm_coefficients_args){
        .gamma = addresses->inputs[GRAD_DATA_NORM_GAMMA],
        .mean = addresses->inputs[GRAD_DATA_NORM_MEAN],
        .invstd = addresses->inputs[GRAD_DATA_NORM_INVSTD],
        .dgamma = addresses->outputs[GRAD_DATA_NORM_DGAMMA],
        .dbeta = addresses->outputs[GRAD_DATA_NORM_DBETA],
        .coefficients = addresses->outputs[GRAD_DATA_NORM_COEFFICIENTS],
        .rows = cuda_rows(x),
        .channels = cuda_channels(x),
    };
    s->norms = 1;
    if (op->kind != OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN)
        return;
    s->coefficients[1] = (struct norm_coefficients_args){
        .gamma = addresses->inputs[GRAD_DATA_NORM_GAMMA2],
        .mean = addresses->inputs[GRAD_DATA_NORM_MEAN2],
        .invstd = addresses->inputs[GRAD_DATA_NORM_INVSTD2],
        .dgamma = addresses->outputs[GRAD_DATA_NORM_DGAMMA2],
        .dbeta = addresses->outputs[GRAD_DATA_NORM_DBETA2],
        .coefficients = addresses->outputs[GRAD_DATA_NORM_COEFFICIENTS2],
        .rows = cuda_rows(x),
        .channels = cuda_channels(x),
    };
    s->norms = 2;
}

/* After cuDNN: the gradient of a folded norm's weights is scaled back, or a padded or
 * half-precision gradient is converted into the arena's form. */
static int run_grad_weight(void *context, struct error *err) {
    struct conv_step *s = context;
    if (run_conv(context, err) != 0)
        return -1;
    if (s->fold.gamma == NULL && s->packed == s->arena)
        return 0;
    cudaError_t status = s->fold.gamma != NULL
                             ? launch_unfold(s->step.cuda->stream, s->step.type, &s->fold, s->arena)
                             : launch_unpack(s->step.cuda->stream, s->step.type, s->arena,
                                             s->packed, s->rows, s->in, s->in_padded);
    return cuda_step_check(&s->step, status, err);
}

/* Pads and rounds the master weights; runs after each change of parameters. */
static int refresh_weights(void *context, struct error *err) {
    struct conv_step *s = context;
    cudaError_t status = launch_pack(s->step.cuda->stream, s->step.type, s->packed, s->arena,
                                     s->rows, s->in_padded, s->in);
    return cuda_step_check(&s->step, status, err);
}

/* Put off, so that the folds of many convolutions share a launch. */
static int refresh_folded(void *context, struct error *err) {
    struct conv_step *s = context;
    return folds_add(s->step.cuda, s->step.type, &s->fold, err);
}

/* The plan belongs to the choice, which outlives the step. */
static void conv_done(struct cuda_step *step) {
    dnn_pack_done(&((struct conv_step *)step)->pack);
}

/* The slots differ: in a forward pass the variance is a named input, in gradients it follows
 * gamma. */
static void fill_fold(struct conv_step *s, const struct op *op, const struct tensor *w,
                      const struct op_addresses *addresses) {
    int gamma = gamma_slot(op);
    s->fold = (struct fold_args){
        .w = s->arena,
        .packed = s->packed,
        .packed_bias = s->bias,
        .outputs = (size_t)w->shape.dim[0],
        .taps = (size_t)(w->shape.dim[1] * w->shape.dim[2]),
        .from_width = s->in,
        .to_width = s->in_padded,
        .epsilon = (float)op->attr.epsilon,
    };
    if (gamma >= 0) {
        s->fold.gamma = addresses->inputs[gamma];
        s->fold.variance =
            addresses->inputs[op->kind == OP_CONV2D_AFFINE ? AFFINE_VARIANCE : gamma + 1];
    }
    if (!has_bias(op))
        return;
    s->fold.bias = addresses->inputs[AFFINE_BIAS];
    s->fold.beta = addresses->inputs[AFFINE_BETA];
    s->fold.mean = addresses->inputs[AFFINE_MEAN];
}

/* Sets the addresses of weights and bias; `packed` of a gradient is in its scratch. Sizes of what
 * tuning may overwrite are whole words: it fills buffers with numbers before it times. */
static void place_weights(struct conv_step *s, const struct graph *graph, const struct op *op,
                          const struct op_addresses *addresses, const struct tensor *w,
                          const struct dnn_conv *conv) {
    s->packed = s->arena;
    if (needs_packing(graph, op, w, conv)) {
        s->packed = addresses->packed;
        s->packed_bytes = weight_bytes(graph, w, conv);
        s->bias = has_bias(op) ? (char *)s->packed + s->packed_bytes : NULL;
    } else if (reads_half(graph, op, w, conv)) {
        s->packed = cuda_half(graph, addresses, s->arena);
        s->packed_bytes = (size_t)tensor_count(w) * dtype_size(graph->dtype) / 4 * 4;
        if (has_bias(op))
            s->bias = cuda_half(graph, addresses, addresses->inputs[AFFINE_BIAS]);
    }
}

/* Returns the bytes of a tensor in the step's own arena; 0 for parameters and the like. Tuning runs
 * plans on the real buffers, so it must know which contents matter. */
static size_t arena_bytes(const struct graph *graph, const struct op *op,
                          const struct conv_row *row) {
    const struct tensor *t =
        row->output ? cuda_output(graph, op, row->slot) : cuda_input(graph, op, row->slot);
    return t->role == TENSOR_ACTIVATION ? tensor_bytes(t) : 0;
}

/* Returns the address of ROW's tensor; *RET_SCRATCH: bytes there that tuning may overwrite.
 * Constants are shared by all steps and must never be overwritten. */
static char *operand(const struct conv_step *s, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses, const struct conv_row *row,
                     size_t *ret_scratch) {
    *ret_scratch = 0;
    if (row->uid == DNN_UID_W) {
        *ret_scratch = s->packed_bytes;
        return s->packed;
    }
    if (row->uid == DNN_UID_BIAS && has_bias(op))
        return s->bias;
    if (row->fill == CONV_ZEROS || row->fill == CONV_ONES) {
        const struct convs *convs = s->step.cuda->convs;
        return (char *)(row->fill == CONV_ONES ? convs->ones : convs->zeros);
    }
    *ret_scratch = arena_bytes(graph, op, row);
    return row->output ? addresses->outputs[row->slot] : addresses->inputs[row->slot];
}

/* Every id of the form with its address. The table of ids and addresses for the variant pack. Spare
 * results lie one after another; parts of one tensor are rows of it. */
static void fill_operands(struct conv_operands *o, const struct conv_step *s,
                          const struct conv_table *form, const struct graph *graph,
                          const struct op *op, const struct op_addresses *addresses) {
    const size_t part_bytes = (size_t)s->in_padded * sizeof(float);
    o->count = 0;
    o->workspace = cuda_workspace(addresses->scratch);
    char *spare = s->spare;
    for (const struct conv_row *row = form->rows; row->uid != 0; row++) {
        int parts = row->parts > 0 ? row->parts : 1;
        size_t scratch = 0;
        char *address = spare;
        if (is_spare(row, op))
            spare += (size_t)parts * part_bytes;
        else
            address = operand(s, graph, op, addresses, row, &scratch);
        for (int part = 0; part < parts; part++) {
            o->ids[o->count] = row->uid + part;
            o->scratch[o->count] = part == 0 ? scratch : 0;
            o->addresses[o->count++] = address + (size_t)part * part_bytes;
        }
    }
}

/* The step is in BOUND as soon as it exists, so that a failure after it is released by the
 * caller. */
static int bind_conv(struct cuda *cuda, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses, struct backend_bound *bound,
                     struct error *err) {
    const struct conv_table *form = conv_table(op);
    struct dnn_conv conv = conv_table_shape(form, graph, op);
    const struct tensor *w = conv_table_weights(form, graph, op);
    struct conv_choice *choice = NULL;
    if (conv_choice_get(cuda, form->pattern, graph->dtype, &conv, &choice, err) != 0)
        return error_wrap(err, "%s", op->name);
    struct conv_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s == NULL)
        return -1;
    s->step.done = conv_done;
    bound->step.context = s;
    bool gradient = is_weight_gradient(form);
    s->rows = cuda_rows(w);
    s->in = cuda_channels(w);
    s->in_padded = (int)dnn_conv_filter_channels(&conv);
    /* Slot 1 holds the weights wherever they are an input. */
    s->arena = gradient ? addresses->outputs[0] : addresses->inputs[1];
    bool packs = needs_packing(graph, op, w, &conv);
    void *behind = (char *)addresses->scratch + cuda_workspace_bytes((size_t)choice->workspace);
    place_weights(s, graph, op, addresses, w, &conv);
    if (packs && gradient)
        s->packed = behind;
    if (has_bias(op) || gamma_slot(op) >= 0)
        fill_fold(s, op, w, addresses);
    s->spare = gradient ? NULL : behind;
    struct conv_operands operands;
    fill_operands(&operands, s, form, graph, op, addresses);
    if (conv_choice_settle(cuda, choice, &operands, err) != 0 ||
        dnn_pack_init(&s->pack, operands.ids, operands.addresses, operands.count,
                      operands.workspace, err) != 0)
        return error_wrap(err, "%s", op->name);
    s->plan = &choice->plans.plans[choice->chosen];
    bound->step.run = gradient ? run_grad_weight : run_conv;
    if (form->pattern >= DNN_GRAD_DATA_NORM && op->kind != OP_CONV2D_GRAD_DATA_AFFINE) {
        fill_coefficients(s, graph, op, addresses);
        bound->step.run = run_grad_data_norm;
    }
    if (!gradient && packs)
        bound->refresh =
            (struct bound_step){s->fold.packed != NULL ? refresh_folded : refresh_weights, s};
    return 0;
}

const struct cuda_rule cuda_conv_rule = {query_conv, bind_conv};
