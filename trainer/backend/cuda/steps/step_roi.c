/* Operators after the proposals (graph/op_roi.h): pictures, regions, detections, metrics of a
 * step. */
#include "trainer/backend/cuda/base/context.h"
#include "trainer/backend/cuda/kernels/detect/launch_roi.h"
#include "trainer/graph/detect_grid.h"

/* Steps of the operators after the proposals: resizing the batch's pictures, RoIAlign and its
 * gradient, sampling of regions, detections, and the total loss. The kernels are in kernels/detect/
 * and take their arguments as structs (launch_roi.h); a step is such a struct, filled when it is
 * bound.
 *
 * Some kernels have ceilings, such as the samples that one block can sort. `query` checks them, so
 * a network that exceeds one is refused when it is compiled and not in the middle of a run. */

/* A step has one member of the union, by its operator. */
struct roi_step {
    struct cuda_step step;
    union {
        struct image_resize_args resize;
        struct roi_align_args align;
        struct roi_targets_args targets;
        struct detections_args detections;
        struct total_loss_args total;
    } args;
};

/* Allocates the step and sets RUN; the caller fills the arguments. NULL with an error. */
static struct roi_step *new_step(struct cuda *cuda, const struct graph *graph, const struct op *op,
                                 int (*run)(void *context, struct error *err),
                                 struct backend_bound *bound, struct error *err) {
    struct roi_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s != NULL)
        bound->step = (struct bound_step){run, s};
    return s;
}

/* --- pictures --------------------------------------------------------------------------------- */

/* From bytes of the source pictures to the normalized canvas, in one launch. The type of the canvas
 * is that of activations. */
static int run_resize(void *context, struct error *err) {
    const struct roi_step *s = context;
    return cuda_step_check(
        &s->step, launch_image_resize(s->step.cuda->stream, s->step.type, &s->args.resize), err);
}

/* Pictures have slots of equal size in the batch; SIZE tells how large each is and becomes
 * (math/image_size.h). Mean and deviation are those of the three colours; further channels are
 * zero. */
static int bind_resize(struct cuda *cuda, const struct graph *graph, const struct op *op,
                       const struct op_addresses *addresses, struct backend_bound *bound,
                       struct error *err) {
    struct roi_step *s = new_step(cuda, graph, op, run_resize, bound, err);
    if (s == NULL)
        return -1;
    const struct op_attr *attr = &op->attr;
    s->args.resize = (struct image_resize_args){
        .images = (int)cuda_output(graph, op, IMAGE_RESIZE_Y)->shape.dim[0],
        .height = attr->detect.canvas_h,
        .width = attr->detect.canvas_w,
        .channels = attr->channels,
        .bytes = (size_t)cuda_channels(cuda_input(graph, op, IMAGE_RESIZE_IMAGE)),
        .bgr = (attr->detect.flags & DETECT_PIXELS_BGR) != 0,
        .image = addresses->inputs[IMAGE_RESIZE_IMAGE],
        .size = addresses->inputs[IMAGE_RESIZE_SIZE],
        .y = addresses->outputs[IMAGE_RESIZE_Y]};
    for (int c = 0; c < 3; c++) {
        s->args.resize.mean[c] = attr->mean[c];
        s->args.resize.std[c] = attr->std[c];
    }
    return 0;
}

const struct cuda_rule cuda_image_resize_rule = {NULL, bind_resize};

/* --- RoIAlign --------------------------------------------------------------------------------- */

/* Forward and gradient share their rule, and a step's arguments. */
static bool is_gradient(const struct op *op) {
    return op->kind == OP_ROI_ALIGN_GRAD;
}

/* The tensor with one row of bins for each region: y or dy. */
static const struct tensor *bins_of(const struct graph *graph, const struct op *op) {
    return is_gradient(op) ? cuda_input(graph, op, ROI_ALIGN_GRAD_DY)
                           : cuda_output(graph, op, ROI_ALIGN_Y);
}

/* Scratch is one struct roi_region for each row: level and axes, which a first kernel computes
 * once. A block keeps the bins' weights of an axis in shared memory, which limits their number.
 * Writing in place of the maps' other gradients is allowed. */
static int query_align(struct cuda *cuda, const struct graph *graph, const struct op *op,
                       struct backend_needs *needs, struct error *err) {
    (void)cuda;
    if (op->attr.detect.pooled > LAUNCH_BINS_MAX)
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s (%s): the cuda backend has %d bins along an axis at most, not %d",
                         op->name, op_name(op->kind), LAUNCH_BINS_MAX, op->attr.detect.pooled);
    needs->scratch = (size_t)bins_of(graph, op)->shape.dim[0] * sizeof(struct roi_region);
    needs->in_place = true;
    return 0;
}

/* Two launches: regions are located, then their bins are averaged. Regions without a sample have
 * image -1 and become zeros. */
static int run_align(void *context, struct error *err) {
    const struct roi_step *s = context;
    return cuda_step_check(
        &s->step, launch_roi_align(s->step.cuda->stream, s->step.type, &s->args.align), err);
}

/* The gradient adds to what other readers of the maps have left in `before`, which may be the
 * result's memory. */
static int run_align_grad(void *context, struct error *err) {
    const struct roi_step *s = context;
    return cuda_step_check(
        &s->step, launch_roi_align_grad(s->step.cuda->stream, s->step.type, &s->args.align), err);
}

/* Regions, labels and rows are consecutive slots in both operators; label and row may be absent.
 * Maps have the canvas's size divided by each level's stride. The rule of sampling is that of
 * math/roi_axis.h, shared with the other backends. */
static int bind_align(struct cuda *cuda, const struct graph *graph, const struct op *op,
                      const struct op_addresses *addresses, struct backend_bound *bound,
                      struct error *err) {
    const struct detect_attr *d = &op->attr.detect;
    bool gradient = is_gradient(op);
    int roi = gradient ? ROI_ALIGN_GRAD_ROI : ROI_ALIGN_ROI;
    struct roi_step *s =
        new_step(cuda, graph, op, gradient ? run_align_grad : run_align, bound, err);
    if (s == NULL)
        return -1;
    const struct shape *regions = &cuda_input(graph, op, roi)->shape;
    s->args.align = (struct roi_align_args){
        .rule = {.bins = d->pooled,
                 .sampling = d->sampling,
                 .aligned = (d->flags & DETECT_ROI_ALIGNED) != 0},
        .levels = d->levels,
        .images = (int)regions->dim[0],
        .slots = (int)regions->dim[1],
        .rows = (int)bins_of(graph, op)->shape.dim[0],
        .channels = cuda_channels(bins_of(graph, op)),
        .level_epsilon = d->level_epsilon,
        .level_inside = (d->flags & DETECT_LEVEL_INSIDE) != 0,
        .plus = detect_plus(d),
        .roi = addresses->inputs[roi],
        .label = addresses->inputs[roi + 1],
        .row = addresses->inputs[roi + 2],
        .bins = gradient ? addresses->inputs[ROI_ALIGN_GRAD_DY] : addresses->outputs[ROI_ALIGN_Y],
        .regions = addresses->scratch};
    for (int l = 0; l < d->levels; l++)
        s->args.align.map[l] = (struct roi_map){
            .values = gradient ? addresses->outputs[ROI_ALIGN_GRAD_DMAP + l]
                               : addresses->inputs[ROI_ALIGN_MAP + l],
            .before = gradient ? addresses->inputs[ROI_ALIGN_GRAD_BEFORE + l] : NULL,
            .height = detect_cells(d->canvas_h, l),
            .width = detect_cells(d->canvas_w, l),
            .scale = 1.0f / (float)detect_cell(l)};
    return 0;
}

const struct cuda_rule cuda_roi_align_rule = {query_align, bind_align};

/* --- targets ---------------------------------------------------------------------------------- */

/* Everything but addresses, for `query` and `bind` alike. */
static struct roi_targets_args targets_args(const struct graph *graph, const struct op *op) {
    const struct detect_attr *d = &op->attr.detect;
    return (struct roi_targets_args){
        .images = (int)cuda_input(graph, op, ROI_TARGETS_BOX)->shape.dim[0],
        .proposals = (int)cuda_input(graph, op, ROI_TARGETS_BOX)->shape.dim[1],
        .objects = (int)cuda_input(graph, op, ROI_TARGETS_GT_BOX)->shape.dim[1],
        .samples = d->samples,
        .positives = d->positives,
        .foreground_iou = d->foreground_iou,
        .background_iou = d->background_iou,
        .plus = detect_plus(d),
        .coder = {d->coder[0], d->coder[1], d->coder[2], d->coder[3]}};
}

/* A block sorts the samples of a picture in shared memory: hence ROI_SAMPLES_MAX. The scratch
 * belongs to all pictures, which are worked on at once. */
static int query_targets(struct cuda *cuda, const struct graph *graph, const struct op *op,
                         struct backend_needs *needs, struct error *err) {
    (void)cuda;
    struct roi_targets_args args = targets_args(graph, op);
    if (args.samples > ROI_SAMPLES_MAX)
        return error_set(err, EXIT_CODE_CONFIG,
                         "backend cuda samples at most %d regions of a picture, not %d",
                         ROI_SAMPLES_MAX, args.samples);
    needs->scratch = launch_roi_targets_scratch(&args);
    return 0;
}

/* Draws the same samples as the other backends (math/sample_key.h). */
static int run_targets(void *context, struct error *err) {
    const struct roi_step *s = context;
    return cuda_step_check(&s->step, launch_roi_targets(s->step.cuda->stream, &s->args.targets),
                           err);
}

/* Counts of proposals and objects are device memory, written by operators before. The scratch has
 * one entry for each proposal and object. */
static int bind_targets(struct cuda *cuda, const struct graph *graph, const struct op *op,
                        const struct op_addresses *addresses, struct backend_bound *bound,
                        struct error *err) {
    struct roi_step *s = new_step(cuda, graph, op, run_targets, bound, err);
    if (s == NULL)
        return -1;
    struct roi_targets_args *args = &s->args.targets;
    *args = targets_args(graph, op);
    args->box = addresses->inputs[ROI_TARGETS_BOX];
    args->count = addresses->inputs[ROI_TARGETS_COUNT];
    args->gt_box = addresses->inputs[ROI_TARGETS_GT_BOX];
    args->gt_label = addresses->inputs[ROI_TARGETS_GT_LABEL];
    args->gt_count = addresses->inputs[ROI_TARGETS_GT_COUNT];
    args->key = addresses->inputs[ROI_TARGETS_KEY];
    args->roi = addresses->outputs[ROI_TARGETS_ROI];
    args->label = addresses->outputs[ROI_TARGETS_LABEL];
    args->match = addresses->outputs[ROI_TARGETS_MATCH];
    args->target = addresses->outputs[ROI_TARGETS_TARGET];
    args->scratch = addresses->scratch;
    return 0;
}

const struct cuda_rule cuda_roi_targets_rule = {query_targets, bind_targets};

/* --- detections ------------------------------------------------------------------------------- */

/* CLASSES includes the background; FOUND is the number of slots for a picture's detections.
 * Thresholds are copied from the attributes, so they cannot change after compilation. */
static struct detections_args detections_args(const struct graph *graph, const struct op *op) {
    const struct detect_attr *d = &op->attr.detect;
    return (struct detections_args){
        .images = (int)cuda_input(graph, op, DETECTIONS_BOX)->shape.dim[0],
        .proposals = (int)cuda_input(graph, op, DETECTIONS_BOX)->shape.dim[1],
        .classes = cuda_channels(cuda_input(graph, op, DETECTIONS_LOGITS)),
        .found = d->detections,
        .score_threshold = d->score_threshold,
        .nms_threshold = d->nms_threshold,
        .min_side = d->min_side,
        .plus = detect_plus(d),
        .coder = {d->coder[0], d->coder[1], d->coder[2], d->coder[3]},
        .side_above = (d->flags & DETECT_SIDE_ABOVE) != 0};
}

/* The scratch holds candidates of all pictures; its size is the launcher's to say. */
static int query_detections(struct cuda *cuda, const struct graph *graph, const struct op *op,
                            struct backend_needs *needs, struct error *err) {
    (void)cuda;
    (void)err;
    struct detections_args args = detections_args(graph, op);
    needs->scratch = launch_detections_scratch(&args);
    return 0;
}

/* Three launches: counts are cleared, candidates are found, and one block a picture chooses among
 * them (kernels/detect/detections.cu). */
static int run_detections(void *context, struct error *err) {
    const struct roi_step *s = context;
    return cuda_step_check(&s->step, launch_detections(s->step.cuda->stream, &s->args.detections),
                           err);
}

/* Logits and deltas have one row for each proposal of each picture. Slots that stay empty are
 * written, too, with label -1. */
static int bind_detections(struct cuda *cuda, const struct graph *graph, const struct op *op,
                           const struct op_addresses *addresses, struct backend_bound *bound,
                           struct error *err) {
    struct roi_step *s = new_step(cuda, graph, op, run_detections, bound, err);
    if (s == NULL)
        return -1;
    struct detections_args *args = &s->args.detections;
    *args = detections_args(graph, op);
    args->logits = addresses->inputs[DETECTIONS_LOGITS];
    args->deltas = addresses->inputs[DETECTIONS_DELTAS];
    args->box = addresses->inputs[DETECTIONS_BOX];
    args->count = addresses->inputs[DETECTIONS_COUNT];
    args->size = addresses->inputs[DETECTIONS_SIZE];
    args->found_box = addresses->outputs[DETECTIONS_FOUND_BOX];
    args->found_score = addresses->outputs[DETECTIONS_FOUND_SCORE];
    args->found_label = addresses->outputs[DETECTIONS_FOUND_LABEL];
    args->found_count = addresses->outputs[DETECTIONS_FOUND_COUNT];
    args->scratch = addresses->scratch;
    return 0;
}

const struct cuda_rule cuda_detections_rule = {query_detections, bind_detections};

/* --- a step's numbers ------------------------------------------------------------------------- */

/* Sums the losses of the heads and the batch's metrics on the device, so that a step sends one
 * small array to the host. */
static int run_total(void *context, struct error *err) {
    const struct roi_step *s = context;
    return cuda_step_check(&s->step, launch_total_loss(s->step.cuda->stream, &s->args.total), err);
}

/* SIZE tells which pictures of the batch are valid: metrics are means times their number, so that
 * batches can be added up. */
static int bind_total(struct cuda *cuda, const struct graph *graph, const struct op *op,
                      const struct op_addresses *addresses, struct backend_bound *bound,
                      struct error *err) {
    struct roi_step *s = new_step(cuda, graph, op, run_total, bound, err);
    if (s == NULL)
        return -1;
    s->args.total = (struct total_loss_args){
        .rpn = addresses->inputs[TOTAL_LOSS_RPN],
        .box = addresses->inputs[TOTAL_LOSS_BOX],
        .mask = addresses->inputs[TOTAL_LOSS_MASK],
        .size = addresses->inputs[TOTAL_LOSS_SIZE],
        .images = (int)cuda_input(graph, op, TOTAL_LOSS_SIZE)->shape.dim[0],
        .metrics = addresses->outputs[TOTAL_LOSS_METRICS]};
    return 0;
}

const struct cuda_rule cuda_total_loss_rule = {NULL, bind_total};
