/* Losses of the heads, and the operators on masks (graph/op_roi.h). */
#include "trainer/backend/cuda/base/context.h"
#include "trainer/backend/cuda/kernels/detect/launch_roi.h"

/* Steps of five groups of operators: which samples train the mask head, their targets, its loss,
 * its last layer (one channel per region: the class's own), and the losses of the box head. A step
 * copies addresses and sizes into the launcher's arguments (kernels/detect/launch_roi.h) when it is
 * bound; running it is one call, which may be several launches.
 *
 * Nothing is sent to the host. Counts that only the device knows, such as the rows that are used,
 * are read by the kernels. */

/* A step has one member of the union, by its operator. VALUES are a loss's results in f32. SCRATCH
 * is what `query` asked for, or NULL. */
struct mask_step {
    struct cuda_step step;
    union {
        struct mask_rows_args rows;
        struct mask_targets_args targets;
        struct mask_loss_args mask_loss;
        struct class_conv_args conv;
        struct box_loss_args box_loss;
    } args;
    void *scratch;
    float *values;
    void *gradient, *second; /* of the losses */
};

/* Allocates the step and sets RUN; the caller sets the arguments. NULL with an error. */
static struct mask_step *new_step(struct cuda *cuda, const struct graph *graph, const struct op *op,
                                  int (*run)(void *context, struct error *err),
                                  const struct op_addresses *addresses, struct backend_bound *bound,
                                  struct error *err) {
    struct mask_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s == NULL)
        return NULL;
    s->scratch = addresses->scratch;
    bound->step = (struct bound_step){run, s};
    return s;
}

/* Device memory: the scale of half-precision gradients changes between steps without the host. */
static const float *loss_scale(const struct mask_step *s) {
    return &s->step.cuda->control->state.loss_scale;
}

/* --- rows and targets ------------------------------------------------------------------------- */

/* No scratch and one small launch. One thread block scans all slots of the batch, because a row's
 * place depends on all slots before it. */
static int run_rows(void *context, struct error *err) {
    const struct mask_step *s = context;
    return cuda_step_check(&s->step, launch_mask_rows(s->step.cuda->stream, &s->args.rows), err);
}

/* Labels are [pictures, slots]; the result has a fixed number of rows and COUNT says how many are
 * used. The slots of a picture are consecutive, and so are its objects in AT. */
static int bind_rows(struct cuda *cuda, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses, struct backend_bound *bound,
                     struct error *err) {
    struct mask_step *s = new_step(cuda, graph, op, run_rows, addresses, bound, err);
    if (s == NULL)
        return -1;
    const struct tensor *label = cuda_input(graph, op, MASK_ROWS_LABEL);
    s->args.rows =
        (struct mask_rows_args){.slots = (int)tensor_count(label),
                                .picture_slots = (int)label->shape.dim[1],
                                .objects = (int)cuda_input(graph, op, MASK_ROWS_AT)->shape.dim[1],
                                .rows = (int)cuda_output(graph, op, MASK_ROWS_ROW)->shape.dim[0],
                                .label = addresses->inputs[MASK_ROWS_LABEL],
                                .match = addresses->inputs[MASK_ROWS_MATCH],
                                .at = addresses->inputs[MASK_ROWS_AT],
                                .row = addresses->outputs[MASK_ROWS_ROW],
                                .mask_label = addresses->outputs[MASK_ROWS_MASK_LABEL],
                                .count = addresses->outputs[MASK_ROWS_COUNT]};
    return 0;
}

const struct cuda_rule cuda_mask_rows_rule = {NULL, bind_rows};

/* One target for each row of the mask head. A row that is not in use gets zeros, so that later
 * kernels may read all of them. */
static int run_targets(void *context, struct error *err) {
    const struct mask_step *s = context;
    return cuda_step_check(&s->step, launch_mask_targets(s->step.cuda->stream, &s->args.targets),
                           err);
}

/* Targets are cut to 0 or 1 if they follow polygons. The tensors of outlines may be absent; then
 * their addresses are NULL. Outlines are points in pixels of the resized picture
 * (graph/op_roi.h). */
static int bind_targets(struct cuda *cuda, const struct graph *graph, const struct op *op,
                        const struct op_addresses *addresses, struct backend_bound *bound,
                        struct error *err) {
    struct mask_step *s = new_step(cuda, graph, op, run_targets, addresses, bound, err);
    if (s == NULL)
        return -1;
    s->args.targets = (struct mask_targets_args){
        .rows = (int)cuda_input(graph, op, MASK_TARGETS_ROW)->shape.dim[0],
        .slots = (int)cuda_input(graph, op, MASK_TARGETS_ROI)->shape.dim[1],
        .objects = (int)cuda_input(graph, op, MASK_TARGETS_AT)->shape.dim[1],
        .bins = op->attr.detect.pooled,
        .roi = addresses->inputs[MASK_TARGETS_ROI],
        .match = addresses->inputs[MASK_TARGETS_MATCH],
        .row = addresses->inputs[MASK_TARGETS_ROW],
        .at = addresses->inputs[MASK_TARGETS_AT],
        .size = addresses->inputs[MASK_TARGETS_SIZE],
        .pool = addresses->inputs[MASK_TARGETS_BITS],
        .cut = (op->attr.detect.flags & DETECT_MASK_POLYGON) != 0,
        .least = op->attr.detect.min_side,
        .parts = addresses->inputs[MASK_TARGETS_PARTS],
        .part = addresses->inputs[MASK_TARGETS_PART],
        .point = addresses->inputs[MASK_TARGETS_POINT],
        .targets = addresses->outputs[MASK_TARGETS_T]};
    return 0;
}

const struct cuda_rule cuda_mask_targets_rule = {NULL, bind_targets};

/* --- mask loss -------------------------------------------------------------------------------- */

/* One partial sum a row for the loss. The gradient needs no scratch, as its divisor is the count of
 * rows. The sum is finished by a second kernel, in a fixed order. */
static int query_mask_loss(struct cuda *cuda, const struct graph *graph, const struct op *op,
                           struct backend_needs *needs, struct error *err) {
    (void)cuda;
    (void)err;
    if (op->kind == OP_MASK_LOSS)
        needs->scratch =
            (size_t)cuda_input(graph, op, MASK_LOSS_LOGITS)->shape.dim[0] * sizeof(double);
    return 0;
}

/* The mean over the rows in use and their pixels. Its f32 result is one number in device memory. */
static int run_mask_loss(void *context, struct error *err) {
    const struct mask_step *s = context;
    return cuda_step_check(
        &s->step, launch_mask_loss(s->step.cuda->stream, &s->args.mask_loss, s->scratch, s->values),
        err);
}

/* In the activation's type, times the loss scale. */
static int run_mask_loss_grad(void *context, struct error *err) {
    const struct mask_step *s = context;
    return cuda_step_check(&s->step,
                           launch_mask_loss_grad(s->step.cuda->stream, s->step.type,
                                                 &s->args.mask_loss, s->gradient, loss_scale(s)),
                           err);
}

/* Loss and gradient have the same inputs in the same slots. The count of rows is device memory,
 * which an operator of the same step has written. */
static int bind_mask_loss(struct cuda *cuda, const struct graph *graph, const struct op *op,
                          const struct op_addresses *addresses, struct backend_bound *bound,
                          struct error *err) {
    bool gradient = op->kind == OP_MASK_LOSS_GRAD;
    struct mask_step *s = new_step(cuda, graph, op, gradient ? run_mask_loss_grad : run_mask_loss,
                                   addresses, bound, err);
    if (s == NULL)
        return -1;
    const struct shape *logits = &cuda_input(graph, op, MASK_LOSS_LOGITS)->shape;
    s->args.mask_loss = (struct mask_loss_args){.logits = addresses->inputs[MASK_LOSS_LOGITS],
                                                .targets = addresses->inputs[MASK_LOSS_T],
                                                .count = addresses->inputs[MASK_LOSS_ROWS],
                                                .rows = (int)logits->dim[0],
                                                .pixels = (int)(logits->dim[1] * logits->dim[2]),
                                                .gradient_scale = (float)op->attr.gradient_scale};
    s->values = gradient ? NULL : addresses->outputs[MASK_LOSS_VALUE];
    s->gradient = gradient ? addresses->outputs[MASK_LOSS_GRAD_DLOGITS] : NULL;
    return 0;
}

const struct cuda_rule cuda_mask_loss_rule = {query_mask_loss, bind_mask_loss};

/* --- the class's channel ---------------------------------------------------------------------- */

/* x, or dx. The tensor that has rows, pixels and channels, whichever slot it is in. */
static const struct tensor *x_of(const struct graph *graph, const struct op *op) {
    return op->kind == OP_CLASS_CONV             ? cuda_input(graph, op, CLASS_CONV_X)
           : op->kind == OP_CLASS_CONV_GRAD_DATA ? cuda_output(graph, op, 0)
                                                 : cuda_input(graph, op, CLASS_CONV_GRAD_WEIGHT_X);
}

/* Parts for each row: the gradients of its class's weights and bias, added class by class
 * afterwards. */
static int query_conv(struct cuda *cuda, const struct graph *graph, const struct op *op,
                      struct backend_needs *needs, struct error *err) {
    (void)cuda;
    (void)err;
    const struct shape *x = &x_of(graph, op)->shape;
    if (op->kind == OP_CLASS_CONV_GRAD_WEIGHT)
        needs->scratch = (size_t)(x->dim[0] * (x->dim[3] + 1)) * sizeof(float);
    return 0;
}

/* Logits in f32, from activations and weights of the activation's type. */
static int run_conv(void *context, struct error *err) {
    const struct mask_step *s = context;
    return cuda_step_check(
        &s->step, launch_class_conv(s->step.cuda->stream, s->step.type, &s->args.conv), err);
}

/* Rows without a class get zeros. It is the outer product of a row's gradients and its class's
 * weights. */
static int run_conv_grad_data(void *context, struct error *err) {
    const struct mask_step *s = context;
    return cuda_step_check(
        &s->step, launch_class_conv_grad_data(s->step.cuda->stream, s->step.type, &s->args.conv),
        err);
}

/* Classes without a row get zeros. Two launches: parts of each row, then their sums by class in the
 * order of rows. */
static int run_conv_grad_weight(void *context, struct error *err) {
    const struct mask_step *s = context;
    return cuda_step_check(
        &s->step, launch_class_conv_grad_weight(s->step.cuda->stream, s->step.type, &s->args.conv),
        err);
}

/* The three operators have their own slots; arguments that one of them lacks stay NULL. The weights
 * are those of all classes, in f32. */
static void bind_conv_tensors(struct class_conv_args *args, const struct graph *graph,
                              const struct op *op, const struct op_addresses *addresses) {
    if (op->kind == OP_CLASS_CONV) {
        args->x = addresses->inputs[CLASS_CONV_X];
        args->w = addresses->inputs[CLASS_CONV_W];
        args->b = addresses->inputs[CLASS_CONV_B];
        args->label = addresses->inputs[CLASS_CONV_LABEL];
        args->logits = addresses->outputs[CLASS_CONV_Y];
    } else if (op->kind == OP_CLASS_CONV_GRAD_DATA) {
        args->dy = addresses->inputs[CLASS_CONV_GRAD_DATA_DY];
        args->w = addresses->inputs[CLASS_CONV_GRAD_DATA_W];
        args->label = addresses->inputs[CLASS_CONV_GRAD_DATA_LABEL];
        args->dx = addresses->outputs[0];
    } else {
        args->dy = addresses->inputs[CLASS_CONV_GRAD_WEIGHT_DY];
        args->x = addresses->inputs[CLASS_CONV_GRAD_WEIGHT_X];
        args->label = addresses->inputs[CLASS_CONV_GRAD_WEIGHT_LABEL];
        args->dw = addresses->outputs[CLASS_CONV_GRAD_WEIGHT_DW];
        args->db = addresses->outputs[CLASS_CONV_GRAD_WEIGHT_DB];
        args->parts = addresses->scratch;
        args->classes = (int)cuda_output(graph, op, CLASS_CONV_GRAD_WEIGHT_DB)->shape.dim[0];
    }
}

/* Shapes first, then addresses; RUN follows from the kind. The number of classes matters to the
 * weight gradient alone. */
static int bind_conv(struct cuda *cuda, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses, struct backend_bound *bound,
                     struct error *err) {
    struct mask_step *s = new_step(cuda, graph, op,
                                   op->kind == OP_CLASS_CONV             ? run_conv
                                   : op->kind == OP_CLASS_CONV_GRAD_DATA ? run_conv_grad_data
                                                                         : run_conv_grad_weight,
                                   addresses, bound, err);
    if (s == NULL)
        return -1;
    const struct shape *x = &x_of(graph, op)->shape;
    s->args.conv = (struct class_conv_args){
        .rows = (int)x->dim[0], .pixels = (int)(x->dim[1] * x->dim[2]), .channels = (int)x->dim[3]};
    bind_conv_tensors(&s->args.conv, graph, op, addresses);
    return 0;
}

const struct cuda_rule cuda_class_conv_rule = {query_conv, bind_conv};

/* --- box loss --------------------------------------------------------------------------------- */

/* Partial sums of each row for the loss; for the gradient, what launch_box_loss_grad() says: one a
 * row, and one. They are double, as sums of rows are. */
static int query_box_loss(struct cuda *cuda, const struct graph *graph, const struct op *op,
                          struct backend_needs *needs, struct error *err) {
    (void)cuda;
    (void)err;
    size_t rows = (size_t)cuda_input(graph, op, BOX_LOSS_LOGITS)->shape.dim[0];
    needs->scratch = (op->kind == OP_BOX_LOSS ? rows * BOX_LOSSES : rows + 1) * sizeof(double);
    return 0;
}

/* Five numbers (enum box_loss): two losses, the accuracy, and counts of objects and samples. */
static int run_box_loss(void *context, struct error *err) {
    const struct mask_step *s = context;
    return cuda_step_check(
        &s->step, launch_box_loss(s->step.cuda->stream, &s->args.box_loss, s->values), err);
}

/* Gradients of logits and deltas in one call, as both need the number of samples. Both are written
 * whole: zeros for classes other than the row's. */
static int run_box_loss_grad(void *context, struct error *err) {
    const struct mask_step *s = context;
    return cuda_step_check(&s->step,
                           launch_box_loss_grad(s->step.cuda->stream, s->step.type,
                                                &s->args.box_loss, s->gradient, s->second,
                                                loss_scale(s)),
                           err);
}

/* Loss and gradient share their inputs; each writes its own outputs. BETA is the width of the
 * quadratic part of smooth L1. */
static int bind_box_loss(struct cuda *cuda, const struct graph *graph, const struct op *op,
                         const struct op_addresses *addresses, struct backend_bound *bound,
                         struct error *err) {
    bool gradient = op->kind == OP_BOX_LOSS_GRAD;
    struct mask_step *s = new_step(cuda, graph, op, gradient ? run_box_loss_grad : run_box_loss,
                                   addresses, bound, err);
    if (s == NULL)
        return -1;
    const struct shape *logits = &cuda_input(graph, op, BOX_LOSS_LOGITS)->shape;
    s->args.box_loss = (struct box_loss_args){.logits = addresses->inputs[BOX_LOSS_LOGITS],
                                              .deltas = addresses->inputs[BOX_LOSS_DELTAS],
                                              .target = addresses->inputs[BOX_LOSS_TARGET],
                                              .label = addresses->inputs[BOX_LOSS_LABEL],
                                              .rows = (int)logits->dim[0],
                                              .classes = (int)logits->dim[1],
                                              .beta = op->attr.detect.beta,
                                              .gradient_scale = (float)op->attr.gradient_scale,
                                              .parts = addresses->scratch};
    if (gradient) {
        s->gradient = addresses->outputs[BOX_LOSS_GRAD_DLOGITS];
        s->second = addresses->outputs[BOX_LOSS_GRAD_DDELTAS];
    } else {
        s->values = addresses->outputs[BOX_LOSS_VALUES];
    }
    return 0;
}

const struct cuda_rule cuda_box_loss_rule = {query_box_loss, bind_box_loss};
