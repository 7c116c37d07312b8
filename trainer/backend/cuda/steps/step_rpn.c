/* Operators around a region proposal network (graph/op_rpn.h). */
#include "trainer/backend/cuda/base/context.h"
#include "trainer/backend/cuda/kernels/detect/launch_rpn.h"

/* Steps of a region proposal network: the choice of proposals (top k, boxes, suppression, merging),
 * the targets of its training, its losses, and the gradient of its head for sampled anchors alone.
 * Kernels are in kernels/detect/ and take structs of arguments (launch_rpn.h), which `bind` fills.
 *
 * A block sorts what it chooses in shared memory, at most LAUNCH_CANDIDATES_MAX of a level or
 * picture. Larger numbers are refused when a network is compiled. */

/* A step has one member of the union, by its operator. The members after it are of losses. */
struct rpn_step {
    struct cuda_step step;
    union {
        struct top_k_args top_k;
        struct rpn_boxes_args boxes;
        struct nms_args nms;
        struct proposals_args proposals;
        struct rpn_targets_args targets;
        struct rpn_loss_args loss;
    } args;
    int level; /* of a gradient */
    float *losses;
    void *dlogits, *ddeltas;
    float gradient_scale;
};

/* What all of them need of the detector: anchors, places of candidates among levels, and rules.
 * Structs of math/ and graph/ are passed to kernels as they are. PICTURES is read from the
 * operator's first output, which has them as its first dimension in most operators. */
static struct rpn_args rpn_args(const struct graph *graph, const struct op *op) {
    const struct detect_attr *attr = &op->attr.detect;
    return (struct rpn_args){
        .grid = detect_grid(attr),
        .places = detect_candidates(attr),
        .rule = detect_proposal_rule(attr),
        .coder = {attr->coder[0], attr->coder[1], attr->coder[2], attr->coder[3]},
        .pictures = (int)cuda_output(graph, op, 0)->shape.dim[0]};
}

/* A block can only sort a limited number. The message names the operator, the ceiling and what was
 * asked for. Returns -1 with EXIT_CODE_CONFIG, since the numbers come from the network's
 * configuration. */
static int check_limit(const struct op *op, int count, struct error *err) {
    if (count <= LAUNCH_CANDIDATES_MAX)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG,
                     "%s (%s): the cuda backend chooses %d of a picture at most, not %d", op->name,
                     op_name(op->kind), LAUNCH_CANDIDATES_MAX, count);
}

/* Allocates the step and sets RUN; the caller fills the arguments. NULL with an error. */
static struct rpn_step *new_step(struct cuda *cuda, const struct graph *graph, const struct op *op,
                                 int (*run)(void *context, struct error *err),
                                 struct backend_bound *bound, struct error *err) {
    struct rpn_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s != NULL)
        bound->step = (struct bound_step){run, s};
    return s;
}

/* The most candidates that a level keeps, not the anchors that it has. Both top k and suppression
 * sort one level at a time. */
static int longest_level(const struct op *op) {
    const struct detect_candidates places = detect_candidates(&op->attr.detect);
    int most = 0;
    for (int i = 0; i < places.levels; i++)
        if (places.first[i + 1] - places.first[i] > most)
            most = places.first[i + 1] - places.first[i];
    return most;
}

/* --- top k ------------------------------------------------------------------------------------ */

/* One block for each level of each picture. */
static int run_top_k(void *context, struct error *err) {
    const struct rpn_step *s = context;
    return cuda_step_check(&s->step, launch_rpn_top_k(s->step.cuda->stream, &s->args.top_k), err);
}

/* Levels that the detector lacks have NULL logits. NAN counts logits that are no number, for each
 * picture. The outputs have places for the candidates of all levels, one level after another. */
static int bind_top_k(struct cuda *cuda, const struct graph *graph, const struct op *op,
                      const struct op_addresses *addresses, struct backend_bound *bound,
                      struct error *err) {
    if (check_limit(op, longest_level(op), err) != 0)
        return -1;
    struct rpn_step *s = new_step(cuda, graph, op, run_top_k, bound, err);
    if (s == NULL)
        return -1;
    s->args.top_k = (struct top_k_args){.rpn = rpn_args(graph, op),
                                        .score = addresses->outputs[RPN_TOP_K_SCORE],
                                        .index = addresses->outputs[RPN_TOP_K_INDEX],
                                        .nan = addresses->outputs[RPN_TOP_K_NAN]};
    for (int i = 0; i < DETECT_LEVELS_MAX; i++)
        s->args.top_k.logits[i] = addresses->inputs[RPN_TOP_K_LOGITS + i];
    return 0;
}

const struct cuda_rule cuda_rpn_top_k_rule = {NULL, bind_top_k};

/* --- boxes ------------------------------------------------------------------------------------ */

/* One thread a candidate. */
static int run_boxes(void *context, struct error *err) {
    const struct rpn_step *s = context;
    return cuda_step_check(&s->step, launch_rpn_boxes(s->step.cuda->stream, &s->args.boxes), err);
}

/* Deltas are one map per level; a candidate's index tells which of them to read. ANCHORS are not a
 * tensor: a kernel computes an anchor from its number. */
static int bind_boxes(struct cuda *cuda, const struct graph *graph, const struct op *op,
                      const struct op_addresses *addresses, struct backend_bound *bound,
                      struct error *err) {
    struct rpn_step *s = new_step(cuda, graph, op, run_boxes, bound, err);
    if (s == NULL)
        return -1;
    s->args.boxes = (struct rpn_boxes_args){.rpn = rpn_args(graph, op),
                                            .score = addresses->inputs[RPN_BOXES_SCORE],
                                            .index = addresses->inputs[RPN_BOXES_INDEX],
                                            .image_size = addresses->inputs[RPN_BOXES_IMAGE_SIZE],
                                            .box = addresses->outputs[RPN_BOXES_BOX],
                                            .ranked_by = addresses->outputs[RPN_BOXES_RANKED_BY]};
    for (int i = 0; i < DETECT_LEVELS_MAX; i++)
        s->args.boxes.deltas[i] = addresses->inputs[RPN_BOXES_DELTAS + i];
    return 0;
}

const struct cuda_rule cuda_rpn_boxes_rule = {NULL, bind_boxes};

/* --- suppression ------------------------------------------------------------------------------ */

/* A bit for every pair of candidates of a level, for all pictures. That is what makes the scratch
 * large: LAUNCH_CANDIDATES_MAX squared bits for each level and picture. */
static int query_nms(struct cuda *cuda, const struct graph *graph, const struct op *op,
                     struct backend_needs *needs, struct error *err) {
    (void)cuda;
    (void)err;
    const struct detect_candidates places = detect_candidates(&op->attr.detect);
    needs->scratch = launch_nms_scratch(&places, (int)cuda_output(graph, op, 0)->shape.dim[0]);
    return 0;
}

/* Three launches: candidates are ordered, all pairs are tested for overlap in parallel, and one
 * warp walks through the order (kernels/detect/nms.cu). */
static int run_nms(void *context, struct error *err) {
    const struct rpn_step *s = context;
    return cuda_step_check(&s->step, launch_nms(s->step.cuda->stream, &s->args.nms), err);
}

/* The score is what boxes are ranked by, minus infinity for those that are excluded. KEEP is 1 for
 * candidates that stay, 0 for all others. */
static int bind_nms(struct cuda *cuda, const struct graph *graph, const struct op *op,
                    const struct op_addresses *addresses, struct backend_bound *bound,
                    struct error *err) {
    if (check_limit(op, longest_level(op), err) != 0)
        return -1;
    struct rpn_step *s = new_step(cuda, graph, op, run_nms, bound, err);
    if (s == NULL)
        return -1;
    s->args.nms = (struct nms_args){.places = detect_candidates(&op->attr.detect),
                                    .pictures = (int)cuda_output(graph, op, 0)->shape.dim[0],
                                    .threshold = op->attr.detect.nms_threshold,
                                    .plus = detect_plus(&op->attr.detect),
                                    .box = addresses->inputs[NMS_BOX],
                                    .score = addresses->inputs[NMS_SCORE],
                                    .keep = addresses->outputs[NMS_KEEP],
                                    .scratch = addresses->scratch};
    return 0;
}

const struct cuda_rule cuda_nms_rule = {query_nms, bind_nms};

/* --- proposals -------------------------------------------------------------------------------- */

/* True if the best are chosen from all pictures together. */
static bool of_batch(const struct op *op) {
    return (op->attr.detect.flags & DETECT_TOP_OF_BATCH) != 0;
}

/* For the batch's choice: the rank at its border, which a first kernel finds and a second one
 * compares with. */
static int query_proposals(struct cuda *cuda, const struct graph *graph, const struct op *op,
                           struct backend_needs *needs, struct error *err) {
    (void)cuda;
    (void)graph;
    (void)err;
    needs->scratch = of_batch(op) ? sizeof(uint64_t) : 0;
    return 0;
}

/* `pool` is 0 unless the choice is of the batch. The batch's choice takes three launches instead of
 * one, as no block can sort a batch. */
static int run_proposals(void *context, struct error *err) {
    const struct rpn_step *s = context;
    const struct proposals_args *args = &s->args.proposals;
    cudaError_t status = args->pool > 0 ? launch_proposals_of_batch(s->step.cuda->stream, args)
                                        : launch_proposals(s->step.cuda->stream, args);
    return cuda_step_check(&s->step, status, err);
}

/* The limit holds per picture; the batch's choice is not sorted by one block. BORDER is NULL unless
 * it is used. */
static int bind_proposals(struct cuda *cuda, const struct graph *graph, const struct op *op,
                          const struct op_addresses *addresses, struct backend_bound *bound,
                          struct error *err) {
    const struct shape *out = &cuda_output(graph, op, PROPOSALS_SCORE)->shape;
    if (!of_batch(op) && check_limit(op, (int)out->dim[1], err) != 0)
        return -1;
    struct rpn_step *s = new_step(cuda, graph, op, run_proposals, bound, err);
    if (s == NULL)
        return -1;
    s->args.proposals = (struct proposals_args){
        .pictures = (int)out->dim[0],
        .candidates = (int)cuda_input(graph, op, PROPOSALS_KEEP)->shape.dim[1],
        .slots = (int)out->dim[1],
        .from_box = addresses->inputs[PROPOSALS_FROM_BOX],
        .from_score = addresses->inputs[PROPOSALS_FROM_SCORE],
        .keep = addresses->inputs[PROPOSALS_KEEP],
        .box = addresses->outputs[PROPOSALS_BOX],
        .score = addresses->outputs[PROPOSALS_SCORE],
        .count = addresses->outputs[PROPOSALS_COUNT],
        .pool = of_batch(op) ? op->attr.detect.post_nms * (int)out->dim[0] : 0,
        .border = addresses->scratch};
    return 0;
}

const struct cuda_rule cuda_proposals_rule = {query_proposals, bind_proposals};

/* --- targets ---------------------------------------------------------------------------------- */

/* Everything but addresses, for `query` and `bind` alike. SLOTS is the room for objects of a
 * picture; how many there are is device memory. */
static struct rpn_targets_args targets_args(const struct graph *graph, const struct op *op) {
    const struct detect_attr *attr = &op->attr.detect;
    return (struct rpn_targets_args){
        .rpn = rpn_args(graph, op),
        .background_iou = attr->background_iou,
        .foreground_iou = attr->foreground_iou,
        .inside = (attr->flags & DETECT_ANCHORS_INSIDE) != 0,
        .slots = (int)cuda_input(graph, op, RPN_TARGETS_GT_BOX)->shape.dim[1],
        .samples = attr->samples,
        .positives = attr->positives};
}

/* Best overlaps and labels of all anchors of all pictures, laid out by the launcher. */
static int query_targets(struct cuda *cuda, const struct graph *graph, const struct op *op,
                         struct backend_needs *needs, struct error *err) {
    (void)cuda;
    (void)err;
    const struct rpn_targets_args args = targets_args(graph, op);
    needs->scratch = launch_rpn_targets_scratch(&args);
    return 0;
}

/* Matching and sampling, in several launches. */
static int run_targets(void *context, struct error *err) {
    const struct rpn_step *s = context;
    return cuda_step_check(&s->step, launch_rpn_targets(s->step.cuda->stream, &s->args.targets),
                           err);
}

/* The number of samples of a picture is limited, as one block sorts them. Labels and keys of
 * anchors stay in scratch, only the samples are outputs. */
static int bind_targets(struct cuda *cuda, const struct graph *graph, const struct op *op,
                        const struct op_addresses *addresses, struct backend_bound *bound,
                        struct error *err) {
    if (check_limit(op, op->attr.detect.samples, err) != 0)
        return -1;
    struct rpn_step *s = new_step(cuda, graph, op, run_targets, bound, err);
    if (s == NULL)
        return -1;
    struct rpn_targets_args *args = &s->args.targets;
    *args = targets_args(graph, op);
    args->objects = addresses->inputs[RPN_TARGETS_GT_BOX];
    args->count = addresses->inputs[RPN_TARGETS_GT_COUNT];
    args->image_size = addresses->inputs[RPN_TARGETS_IMAGE_SIZE];
    args->key = addresses->inputs[RPN_TARGETS_KEY];
    args->index = addresses->outputs[RPN_TARGETS_INDEX];
    args->label = addresses->outputs[RPN_TARGETS_LABEL];
    args->target = addresses->outputs[RPN_TARGETS_TARGET];
    args->counts = addresses->outputs[RPN_TARGETS_COUNT];
    args->scratch = addresses->scratch;
    return 0;
}

const struct cuda_rule cuda_rpn_targets_rule = {query_targets, bind_targets};

/* --- loss ------------------------------------------------------------------------------------- */

/* Sums over the samples of the batch, in a fixed order. */
static int run_loss(void *context, struct error *err) {
    const struct rpn_step *s = context;
    cudaError_t status = launch_rpn_loss(s->step.cuda->stream, &s->args.loss, s->losses);
    return cuda_step_check(&s->step, status, err);
}

/* Dense gradients of one level: zeros except at sampled anchors. The scale of half-precision
 * gradients is applied here. */
static int run_loss_grad(void *context, struct error *err) {
    const struct rpn_step *s = context;
    const struct cuda *cuda = s->step.cuda;
    cudaError_t status =
        launch_rpn_loss_grad(cuda->stream, s->step.type, &s->args.loss, s->level, s->dlogits,
                             s->ddeltas, s->gradient_scale, &cuda->control->state.loss_scale);
    return cuda_step_check(&s->step, status, err);
}

/* SLOT is the first of index, label and target. The number of pictures is taken from the samples,
 * since a gradient's first output has other dimensions. Label and target follow the index in every
 * operator's slots. */
static struct rpn_loss_args loss_args(const struct graph *graph, const struct op *op,
                                      const struct op_addresses *addresses, int slot) {
    const struct detect_attr *attr = &op->attr.detect;
    struct rpn_loss_args args = {.rpn = rpn_args(graph, op),
                                 .index = addresses->inputs[slot],
                                 .label = addresses->inputs[slot + 1],
                                 .target = addresses->inputs[slot + 2],
                                 .samples = (int)cuda_input(graph, op, slot)->shape.dim[1],
                                 .fixed_count = (attr->flags & DETECT_RPN_FIXED_COUNT) != 0,
                                 .beta = attr->beta};
    args.rpn.pictures = (int)cuda_input(graph, op, slot)->shape.dim[0];
    return args;
}

/* The maps of all levels are read by one launch. Values are f32, in the order of enum rpn_loss. */
static int bind_loss(struct cuda *cuda, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses, struct backend_bound *bound,
                     struct error *err) {
    struct rpn_step *s = new_step(cuda, graph, op, run_loss, bound, err);
    if (s == NULL)
        return -1;
    s->args.loss = loss_args(graph, op, addresses, RPN_LOSS_INDEX);
    for (int i = 0; i < DETECT_LEVELS_MAX; i++) {
        s->args.loss.logits[i] = addresses->inputs[RPN_LOSS_LOGITS + i];
        s->args.loss.deltas[i] = addresses->inputs[RPN_LOSS_DELTAS + i];
    }
    s->losses = addresses->outputs[RPN_LOSS_VALUES];
    return 0;
}

/* The level's maps take the place of level 0 in the arguments, as launch_rpn.h says. It has one
 * level by its attribute; the graph has a gradient operator for each. */
static int bind_loss_grad(struct cuda *cuda, const struct graph *graph, const struct op *op,
                          const struct op_addresses *addresses, struct backend_bound *bound,
                          struct error *err) {
    struct rpn_step *s = new_step(cuda, graph, op, run_loss_grad, bound, err);
    if (s == NULL)
        return -1;
    s->args.loss = loss_args(graph, op, addresses, RPN_LOSS_GRAD_INDEX);
    s->args.loss.logits[0] = addresses->inputs[RPN_LOSS_GRAD_LOGITS];
    s->args.loss.deltas[0] = addresses->inputs[RPN_LOSS_GRAD_DELTAS];
    s->level = op->attr.detect.level;
    s->dlogits = addresses->outputs[RPN_LOSS_GRAD_DLOGITS];
    s->ddeltas = addresses->outputs[RPN_LOSS_GRAD_DDELTAS];
    s->gradient_scale = (float)op->attr.gradient_scale;
    return 0;
}

/* --- head ------------------------------------------------------------------------------------- */

/* A struct of its own: the steps above need no room for its arguments. Its loss members have the
 * level's maps at index 0. */
struct head_step {
    struct cuda_step step;
    struct rpn_head_args args;
};

/* ADDRESSES may have NULL inputs, for sizes alone. */
static struct rpn_head_args head_args(const struct graph *graph, const struct op *op,
                                      const struct op_addresses *addresses) {
    return (struct rpn_head_args){
        .loss = loss_args(graph, op, addresses, RPN_HEAD_GRAD_INDEX),
        .level = op->attr.detect.level,
        .in = cuda_channels(cuda_input(graph, op, RPN_HEAD_GRAD_X)),
        .out = cuda_channels(cuda_input(graph, op, RPN_HEAD_GRAD_T)),
        .gradient_scale = (float)op->attr.gradient_scale,
    };
}

/* The launcher counts the scratch if it is given no memory. It depends on the number of slots, not
 * on how many are sampled. */
static int query_head(struct cuda *cuda, const struct graph *graph, const struct op *op,
                      struct backend_needs *needs, struct error *err) {
    (void)cuda;
    (void)err;
    void *nowhere[OP_INPUTS_MAX] = {0};
    struct rpn_head_args args = head_args(graph, op, &(struct op_addresses){.inputs = nowhere});
    needs->scratch = launch_rpn_head_scratch(&args, NULL);
    return 0;
}

/* A chain of launches on rows of sampled pixels. */
static int run_head(void *context, struct error *err) {
    const struct head_step *s = context;
    return cuda_step_check(&s->step,
                           launch_rpn_head_grad(s->step.cuda->stream, s->step.type, &s->args), err);
}

/* The loss scale is device memory, read when the step runs. The last call sets the addresses of the
 * scratch. Its gradients of weights are f32, that of x has the activations' type. */
static int bind_head(struct cuda *cuda, const struct graph *graph, const struct op *op,
                     const struct op_addresses *addresses, struct backend_bound *bound,
                     struct error *err) {
    struct head_step *s = cuda_step_new(cuda, graph, op, sizeof(*s), err);
    if (s == NULL)
        return -1;
    bound->step = (struct bound_step){run_head, s};
    s->args = head_args(graph, op, addresses);
    struct rpn_head_args *args = &s->args;
    args->loss.logits[0] = addresses->inputs[RPN_HEAD_GRAD_LOGITS];
    args->loss.deltas[0] = addresses->inputs[RPN_HEAD_GRAD_DELTAS];
    args->loss_scale = &cuda->control->state.loss_scale;
    args->x = addresses->inputs[RPN_HEAD_GRAD_X];
    args->t = addresses->inputs[RPN_HEAD_GRAD_T];
    args->w_conv = addresses->inputs[RPN_HEAD_GRAD_W_CONV];
    args->w_cls = addresses->inputs[RPN_HEAD_GRAD_W_CLS];
    args->w_box = addresses->inputs[RPN_HEAD_GRAD_W_BOX];
    args->dx = addresses->outputs[RPN_HEAD_GRAD_DX];
    args->dw_conv = addresses->outputs[RPN_HEAD_GRAD_DW_CONV];
    args->db_conv = addresses->outputs[RPN_HEAD_GRAD_DB_CONV];
    args->dw_cls = addresses->outputs[RPN_HEAD_GRAD_DW_CLS];
    args->db_cls = addresses->outputs[RPN_HEAD_GRAD_DB_CLS];
    args->dw_box = addresses->outputs[RPN_HEAD_GRAD_DW_BOX];
    args->db_box = addresses->outputs[RPN_HEAD_GRAD_DB_BOX];
    (void)launch_rpn_head_scratch(args, addresses->scratch);
    return 0;
}

const struct cuda_rule cuda_rpn_head_grad_rule = {query_head, bind_head};
const struct cuda_rule cuda_rpn_loss_rule = {NULL, bind_loss};
const struct cuda_rule cuda_rpn_loss_grad_rule = {NULL, bind_loss_grad};
