#include "cuda/conv_plan.h"

#include "cuda/conv_form.h"
#include "cuda/dnn_pack.h"

/* A convolution pass, plain or fused. cuDNN wants weights in the activation's type and with the
 * input's channels (the stem's are padded): `packed` holds them so. A weight gradient comes out in
 * that form, too, and is brought into the f32 arena behind it. */
struct conv_step {
    struct cuda_step step;
    const struct dnn_plan *plan;
    struct dnn_pack pack;
    /* weights: [out * kernel * kernel, in] */
    size_t rows;
    int in, in_padded;
    float *arena;
    void *packed;
    /* of a data gradient with norms behind it */
    struct norm_coefficients_args coefficients[2];
    int norms;
};

/* Whether cuDNN can use the arena's own weights. */
static bool needs_packing(const struct graph *graph, const struct tensor *w,
                          const struct dnn_conv *conv) {
    return graph->dtype != DTYPE_F32 || conv->in_channels != w->shape.dim[3];
}

static size_t packed_bytes(const struct graph *graph, const struct tensor *w,
                           const struct dnn_conv *conv) {
    if (!needs_packing(graph, w, conv))
        return 0;
    return cuda_rows(w) * (size_t)conv->in_channels * dtype_size(graph->dtype);
}

static bool is_weight_gradient(const struct conv_form *form) {
    return form->pattern == DNN_GRAD_WEIGHT || form->pattern == DNN_NORM_GRAD_WEIGHT;
}

static int query_conv(struct cuda *cuda, const struct graph *graph, const struct op *op,
                      struct backend_needs *needs, struct error *err) {
    const struct conv_form *form = conv_form(op->kind);
    struct dnn_conv conv = conv_form_shape(form, graph, op);
    const struct tensor *w = conv_form_weights(form, graph, op);
    struct conv_choice *choice = NULL;
    if (conv_choice_get(cuda, form->pattern, graph->dtype, &conv, &choice, err) != 0)
        return error_wrap(err, "%s", op->name);
    needs->scratch = cuda_workspace_bytes((size_t)choice->workspace);
    if (is_weight_gradient(form))
        needs->scratch += packed_bytes(graph, w, &conv);
    else
        needs->packed = packed_bytes(graph, w, &conv);
    return 0;
}

static int run_conv(void *context, struct error *err) {
    struct conv_step *s = context;
    if (dnn_pack_run(&s->pack, s->step.cuda->convs->dnn, s->plan, err) != 0)
        return error_wrap(err, "%s %s", s->step.name, s->step.shape);
    return 0;
}

/* What cuDNN means by the coefficients that its reduction can write is documented nowhere: they are
 * ours, from its dgamma and dbeta, which are. */
static int run_grad_data_norm(void *context, struct error *err) {
    struct conv_step *s = context;
    if (run_conv(context, err) != 0)
        return -1;
    cudaError_t status = cudaSuccess;
    for (int i = 0; i < s->norms && status == cudaSuccess; i++)
        status = launch_norm_coefficients(s->step.cuda->stream, &s->coefficients[i]);
    return cuda_step_check(&s->step, status, err);
}

static void fill_coefficients(struct conv_step *s, const struct graph *graph, const struct op *op,
                              const struct backend_site *site) {
    const struct tensor *x = cuda_input(graph, op, GRAD_DATA_NORM_X);
    s->coefficients[0] = (struct norm_coefficients_args){
        .gamma = site->inputs[GRAD_DATA_NORM_GAMMA],
        .mean = site->inputs[GRAD_DATA_NORM_MEAN],
        .invstd = site->inputs[GRAD_DATA_NORM_INVSTD],
        .dgamma = site->outputs[GRAD_DATA_NORM_DGAMMA],
        .dbeta = site->outputs[GRAD_DATA_NORM_DBETA],
        .coefficients = site->outputs[GRAD_DATA_NORM_COEFFICIENTS],
        .rows = cuda_rows(x),
        .channels = cuda_channels(x),
    };
    s->norms = 1;
    if (op->kind != OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN)
        return;
    s->coefficients[1] = (struct norm_coefficients_args){
        .gamma = site->inputs[GRAD_DATA_NORM_GAMMA2],
        .mean = site->inputs[GRAD_DATA_NORM_MEAN2],
        .invstd = site->inputs[GRAD_DATA_NORM_INVSTD2],
        .dgamma = site->outputs[GRAD_DATA_NORM_DGAMMA2],
        .dbeta = site->outputs[GRAD_DATA_NORM_DBETA2],
        .coefficients = site->outputs[GRAD_DATA_NORM_COEFFICIENTS2],
        .rows = cuda_rows(x),
        .channels = cuda_channels(x),
    };
    s->norms = 2;
}

static int run_grad_weight(void *context, struct error *err) {
    struct conv_step *s = context;
    if (run_conv(context, err) != 0)
        return -1;
    if (s->packed == s->arena)
        return 0;
    cudaError_t status = launch_unpack(s->step.cuda->stream, s->step.type, s->arena, s->packed,
                                       s->rows, s->in, s->in_padded);
    return cuda_step_check(&s->step, status, err);
}

static int refresh_weights(void *context, struct error *err) {
    struct conv_step *s = context;
    cudaError_t status = launch_pack(s->step.cuda->stream, s->step.type, s->packed, s->arena,
                                     s->rows, s->in_padded, s->in);
    return cuda_step_check(&s->step, status, err);
}

static void conv_done(struct cuda_step *step) {
    dnn_pack_done(&((struct conv_step *)step)->pack);
}

/* The bytes of a tensor that lives in the step's own arena; 0 for parameters and the like. */
static size_t arena_bytes(const struct graph *graph, const struct op *op,
                          const struct conv_row *row) {
    const struct tensor *t =
        row->output ? cuda_output(graph, op, row->slot) : cuda_input(graph, op, row->slot);
    return t->role == TENSOR_ACTIVATION ? tensor_bytes(t) : 0;
}

/* Every id of the form with its address; the weights' own is WEIGHTS, of which tuning may write
 * over WEIGHTS_SCRATCH bytes. */
static void fill_operands(struct conv_operands *o, const struct conv_form *form,
                          const struct dnn_conv *conv, const struct graph *graph,
                          const struct op *op, const struct backend_site *site, void *weights,
                          size_t weights_scratch) {
    o->count = 0;
    o->workspace = cuda_workspace(site->scratch);
    for (const struct conv_row *row = form->rows; row->uid != 0; row++) {
        char *address = row->output ? site->outputs[row->slot] : site->inputs[row->slot];
        size_t scratch = row->uid == DNN_UID_W ? weights_scratch : arena_bytes(graph, op, row);
        if (row->uid == DNN_UID_W)
            address = weights;
        for (int part = 0; part < (row->parts > 0 ? row->parts : 1); part++) {
            o->ids[o->count] = row->uid + part;
            o->scratch[o->count] = part == 0 ? scratch : 0;
            o->addresses[o->count++] =
                address + (size_t)part * (size_t)conv->in_channels * sizeof(float);
        }
    }
}

static int bind_conv(struct cuda *cuda, const struct graph *graph, const struct op *op,
                     const struct backend_site *site, struct backend_bound *bound,
                     struct error *err) {
    const struct conv_form *form = conv_form(op->kind);
    struct dnn_conv conv = conv_form_shape(form, graph, op);
    const struct tensor *w = conv_form_weights(form, graph, op);
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
    s->in_padded = (int)conv.in_channels;
    /* Slot 1 holds the weights wherever they are an input. */
    s->arena = gradient ? site->outputs[0] : site->inputs[1];
    s->packed = s->arena;
    if (needs_packing(graph, w, &conv))
        s->packed = gradient
                        ? (char *)site->scratch + cuda_workspace_bytes((size_t)choice->workspace)
                        : site->packed;
    struct conv_operands operands;
    fill_operands(&operands, form, &conv, graph, op, site, s->packed,
                  s->packed != s->arena ? packed_bytes(graph, w, &conv) : 0);
    if (conv_choice_settle(cuda, choice, &operands, err) != 0 ||
        dnn_pack_init(&s->pack, operands.ids, operands.addresses, operands.count,
                      operands.workspace, err) != 0)
        return error_wrap(err, "%s", op->name);
    s->plan = &choice->plans.plans[choice->chosen];
    bound->step.run = gradient ? run_grad_weight : run_conv;
    if (form->pattern >= DNN_GRAD_DATA_NORM) {
        fill_coefficients(s, graph, op, site);
        bound->step.run = run_grad_data_norm;
    }
    if (!gradient && s->packed != s->arena)
        bound->refresh = (struct bound_step){refresh_weights, s};
    return 0;
}

const struct cuda_rule cuda_conv_rule = {query_conv, bind_conv};
