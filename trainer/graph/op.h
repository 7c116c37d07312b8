/* The operators: one enum, one table. A row of the table holds the name, the shape rule, the
 * gradient rule and the cost; what an operator means is written in backend/ref, and the comments
 * here say the same in words. Adding an operator: one row (op_table.c), one body in backend/ref,
 * one step in every other backend, one line in tests/ops/.
 *
 * Operators name their tensors by slot: inputs and outputs are fixed positions, listed per kind
 * below; an optional input that is absent is TENSOR_NONE, and so is an output nobody wants. x, y,
 * dx, dy have the activation type; weights, statistics and everything per channel has the wide type
 * (f32, or f64 in double mode). dX is the gradient of the loss by X. Geometry (boxes, scores, what
 * they are compared with) is f32 and numbers, labels and counts are i32 in every mode: what was
 * chosen stays chosen under finite differences. */
#ifndef GRAPH_OP_H
#define GRAPH_OP_H

#include "common/error.h"
#include "graph/op_detect.h"
#include "graph/tensor.h"

#include <stdbool.h>

enum op_kind {
    /* image u8 [N,H,W,3] -> y [N,H,W,C]: (u8 / 255 - mean) / std; channels beyond 3 are zero */
    OP_IMAGE_NORMALIZE,
    /* x [N,H,W,C], w [O,KH,KW,I] -> y; I <= C: channels of x beyond I are padding, not read */
    OP_CONV2D,
    OP_CONV2D_GRAD_DATA,   /* dy, w -> dx (attr.target) */
    OP_CONV2D_GRAD_WEIGHT, /* dy, x -> dw (attr.target) */

    /* Batch norm over N,H,W with batch statistics: enum norm_slot. The running statistics among
     * the inputs are updated in place: r += momentum * (batch - r), variance unbiased. */
    OP_BATCH_NORM,               /* y = norm(x) */
    OP_BATCH_NORM_RELU,          /* y = relu(norm(x)) */
    OP_BATCH_NORM_ADD_RELU,      /* y = relu(norm(x) + side) */
    OP_BATCH_NORM_DUAL_ADD_RELU, /* y = relu(norm(x) + norm2(side)) */
    OP_BATCH_NORM_RELU_MAX_POOL, /* y = max_pool(relu(norm(x))), and the pool's index */
    /* Their gradients: enum norm_grad_slot. dy stands for dy + dy2 where dy2 is given. */
    OP_BATCH_NORM_GRAD,
    OP_BATCH_NORM_RELU_GRAD,          /* mask: norm(x) > 0, computed again */
    OP_BATCH_NORM_ADD_RELU_GRAD,      /* mask: y > 0 */
    OP_BATCH_NORM_DUAL_ADD_RELU_GRAD, /* mask: y > 0, or the same from x and side again */
    OP_BATCH_NORM_RELU_MAX_POOL_GRAD, /* by index, then as OP_BATCH_NORM_RELU_GRAD */
    /* Batch norm with the running statistics; the slots of the forward kinds, only y out. */
    OP_BATCH_NORM_INFERENCE,
    OP_BATCH_NORM_INFERENCE_RELU,
    OP_BATCH_NORM_INFERENCE_ADD_RELU,
    OP_BATCH_NORM_INFERENCE_DUAL_ADD_RELU,

    /* ReLUs, their masks and pools keep NaN (kernels/relu.h, kernels/pool.h); "y > 0" here and
     * above means "not y <= 0". */
    OP_RELU,      /* x -> y */
    OP_RELU_GRAD, /* dy, y -> dx: dy where y > 0, else 0 */
    OP_ADD, /* a, b -> y, all of one type, the wide one too; also sums gradients where a tensor had
               several readers */
    OP_ADD_RELU, /* a, b -> y = relu(a + b) */

    /* x -> y, index u8: where in its window (row * kernel + column) the first maximum was; cells
     * outside the image count as minus infinity. The index may be unwanted (inference). */
    OP_MAX_POOL,
    OP_MAX_POOL_GRAD,        /* dy, index -> dx (attr.target) */
    OP_GLOBAL_AVG_POOL,      /* x [N,H,W,C] -> y [N,C] */
    OP_GLOBAL_AVG_POOL_GRAD, /* dy [N,C] -> dx (attr.target) */

    /* x [N,I], w [O,I], bias [O] -> y [N,O] in the wide type: the logits */
    OP_LINEAR,
    OP_LINEAR_GRAD_DATA,   /* dy [N,O], w -> dx */
    OP_LINEAR_GRAD_WEIGHT, /* dy, x -> dw, dbias */

    /* logits [N,K] wide, labels i32 [N], weights f32 [N] -> metrics, wide [LOSS_METRICS]. Loss of a
     * sample: (1 - s) * -log p[label] + s / K * sum_k -log p[k], s the label smoothing. A label of
     * a sample whose weight is 0 is not read. */
    OP_SOFTMAX_CROSS_ENTROPY,
    /* logits, labels, weights -> dlogits in the activation type:
     * attr.gradient_scale * weight * (p - target) */
    OP_SOFTMAX_CROSS_ENTROPY_GRAD,

    /* What FUSION_CONV makes of convolutions and the training norms around them. `scale` and
     * `bias` are a norm as y = x * scale + bias, per channel in the ACTIVATION type. Statistics
     * are sum and square sum per channel over N,H,W, of y as it was before rounding.
     * Forward: enum fused_conv_slot, x, w first as in OP_CONV2D. */
    OP_CONV2D_STATS,           /* y = conv(x); statistics of y */
    OP_NORM_CONV2D_STATS,      /* y = conv(relu(x * scale + bias)); statistics of y */
    OP_JOIN_CONV2D_STATS,      /* join = relu(x * scale + bias + side), y = conv(join); ... */
    OP_DUAL_JOIN_CONV2D_STATS, /* join = relu(x * scale + bias + side * scale2 + bias2); ... */
    /* statistics, gamma, beta, running -> saved mean and 1 / deviation, scale, bias; the running
     * statistics are updated in place: enum norm_finalize_slot; attr.target is x's shape */
    OP_NORM_FINALIZE,
    /* The norm's result without a convolution: slots of enum fused_conv_slot without w -> y */
    OP_NORM_APPLY_RELU,      /* relu(x * scale + bias) */
    OP_JOIN_APPLY_RELU,      /* relu(x * scale + bias + side) */
    OP_DUAL_JOIN_APPLY_RELU, /* relu(x * scale + bias + side * scale2 + bias2) */
    /* dy, x, scale, bias -> dw of conv(relu(x * scale + bias)) (attr.target) */
    OP_NORM_CONV2D_GRAD_WEIGHT,
    /* Data gradient, ReLU mask and batch-norm reductions: enum grad_data_norm_slot. With
     * h = the data gradient by dy and w (+ shortcut) and pre the value before the ReLU, computed
     * again from x: g = h where pre > 0, else 0; dgamma, dbeta, and coefficients. attr.target is
     * g's shape. */
    OP_CONV2D_GRAD_DATA_NORM,          /* pre = norm(x) */
    OP_CONV2D_GRAD_DATA_ADD_NORM,      /* the same with shortcut */
    OP_CONV2D_GRAD_DATA_ADD_JOIN,      /* pre = norm(x) + side */
    OP_CONV2D_GRAD_DATA_ADD_DUAL_JOIN, /* pre = norm(x) + norm2(side); two reductions */
    /* g, x, coefficients [3,C] -> dx = g * row 0 + x * row 1 + row 2: the rest of a norm's
     * gradient */
    OP_NORM_GRAD_APPLY,

    OP_KINDS
};

/* OP_SOFTMAX_CROSS_ENTROPY's output: sums over the batch, each sample times its weight. A class is
 * in front of another if its logit is greater, or equal with a lower number; a label with a NaN is
 * never among the first. TOP5 is top-min(5, classes). */
enum loss_metric { LOSS_SUM, LOSS_TOP1, LOSS_TOP5, LOSS_WEIGHT, LOSS_METRICS };

/* Slots of the forward norms. The second five are for the DUAL forms, NORM_SIDE for the ADD form
 * too. SAVED: per channel mean and 1 / sqrt(variance + epsilon), biased, of this batch. */
enum norm_slot {
    NORM_X,
    NORM_GAMMA,
    NORM_BETA,
    NORM_MEAN, /* running; updated by the training kinds */
    NORM_VARIANCE,
    NORM_SIDE,
    NORM_GAMMA2,
    NORM_BETA2,
    NORM_MEAN2,
    NORM_VARIANCE2,
    NORM_INPUTS,

    NORM_Y = 0,
    NORM_SAVED_MEAN,
    NORM_SAVED_INVSTD,
    NORM_SAVED_MEAN2,
    NORM_SAVED_INVSTD2,
    NORM_OUTPUTS,
    NORM_POOL_INDEX = NORM_SAVED_MEAN2 /* of OP_BATCH_NORM_RELU_MAX_POOL */
};

/* Slots of their gradients; what a kind does not need is TENSOR_NONE. */
enum norm_grad_slot {
    NORM_GRAD_DY,
    NORM_GRAD_DY2, /* optional: a second gradient of y, added to the first */
    NORM_GRAD_X,
    NORM_GRAD_GAMMA,
    NORM_GRAD_BETA,
    NORM_GRAD_MEAN, /* saved by the forward operator */
    NORM_GRAD_INVSTD,
    NORM_GRAD_Y,    /* ADD and DUAL: the forward output; MAX_POOL: the pool's index */
    NORM_GRAD_SIDE, /* DUAL: x of the second norm */
    NORM_GRAD_GAMMA2,
    NORM_GRAD_BETA2,
    NORM_GRAD_MEAN2,
    NORM_GRAD_INVSTD2,
    NORM_GRAD_INPUTS,

    NORM_GRAD_DX = 0,
    NORM_GRAD_DGAMMA,
    NORM_GRAD_DBETA,
    NORM_GRAD_DSIDE, /* ADD: the masked dy; DUAL: by x of the second norm */
    NORM_GRAD_DGAMMA2,
    NORM_GRAD_DBETA2,
    NORM_GRAD_OUTPUTS
};

enum fused_conv_slot {
    FUSED_CONV_X,
    FUSED_CONV_W, /* absent in the APPLY kinds */
    FUSED_CONV_SCALE,
    FUSED_CONV_BIAS,
    FUSED_CONV_SIDE, /* JOIN: what is added; DUAL: x of the second norm */
    FUSED_CONV_SCALE2,
    FUSED_CONV_BIAS2,
    FUSED_CONV_INPUTS,

    FUSED_CONV_Y = 0,
    FUSED_CONV_SUM,
    FUSED_CONV_SQUARE_SUM,
    FUSED_CONV_JOIN, /* JOIN and DUAL: the convolution's input, written out */
    FUSED_CONV_OUTPUTS
};

enum norm_finalize_slot {
    NORM_FINALIZE_SUM,
    NORM_FINALIZE_GAMMA, /* as NORM_GAMMA .. NORM_VARIANCE */
    NORM_FINALIZE_BETA,
    NORM_FINALIZE_MEAN,
    NORM_FINALIZE_VARIANCE,
    NORM_FINALIZE_SQUARE_SUM,
    NORM_FINALIZE_INPUTS,

    NORM_FINALIZE_SAVED_MEAN = 0,
    NORM_FINALIZE_SAVED_INVSTD,
    NORM_FINALIZE_SCALE,
    NORM_FINALIZE_BIAS,
    NORM_FINALIZE_OUTPUTS
};

enum grad_data_norm_slot {
    GRAD_DATA_NORM_DY, /* of the convolution's output */
    GRAD_DATA_NORM_W,
    GRAD_DATA_NORM_SHORTCUT, /* ADD: a second gradient of the convolution's input */
    GRAD_DATA_NORM_X,        /* of the norm in front of the convolution */
    GRAD_DATA_NORM_GAMMA,
    GRAD_DATA_NORM_BETA,
    GRAD_DATA_NORM_MEAN, /* saved */
    GRAD_DATA_NORM_INVSTD,
    GRAD_DATA_NORM_SIDE, /* JOIN: what was added; DUAL: x of the second norm */
    GRAD_DATA_NORM_GAMMA2,
    GRAD_DATA_NORM_BETA2,
    GRAD_DATA_NORM_MEAN2,
    GRAD_DATA_NORM_INVSTD2,
    GRAD_DATA_NORM_INPUTS,

    GRAD_DATA_NORM_G = 0,
    GRAD_DATA_NORM_DGAMMA,
    GRAD_DATA_NORM_DBETA,
    GRAD_DATA_NORM_COEFFICIENTS, /* [3,C] for OP_NORM_GRAD_APPLY: of g, of x, constant */
    GRAD_DATA_NORM_DGAMMA2,
    GRAD_DATA_NORM_DBETA2,
    GRAD_DATA_NORM_COEFFICIENTS2,
    GRAD_DATA_NORM_OUTPUTS
};

enum { OP_INPUTS_MAX = NORM_GRAD_INPUTS, OP_OUTPUTS_MAX = GRAD_DATA_NORM_OUTPUTS };

/* Square windows, equal on both axes; padding on all four sides. */
struct op_window {
    int kernel;
    int stride;
    int pad;
};

struct op_attr {
    struct op_window window;   /* convolutions and pools, also fused ones */
    double epsilon;            /* norms */
    double momentum;           /* norms */
    double label_smoothing;    /* losses */
    double gradient_scale;     /* gradient of the loss: 1 / N for a mean over N samples */
    float mean[3], std[3];     /* OP_IMAGE_NORMALIZE, of values in 0..1 */
    int channels;              /* OP_IMAGE_NORMALIZE: C */
    struct shape target;       /* the output's shape, where the inputs do not settle it */
    struct detect_attr detect; /* operators of detection */
};

struct op {
    enum op_kind kind;
    int inputs[OP_INPUTS_MAX]; /* tensors of the graph, or TENSOR_NONE; so are all the rest */
    int outputs[OP_OUTPUTS_MAX];
    /* i32 [1], or TENSOR_NONE for all: so many rows count, from the first one, of the activations
     * whose rows (first dimension) are counted there (graph_rows). Those behind are undefined in
     * outputs, NaN even, so that who reads there chooses by row or label and multiplies nothing by
     * 0. A backend may compute all of them. */
    int rows;
    struct op_attr attr;
    int forward;                 /* of a gradient: the operator it is the gradient of, else -1 */
    char name[TENSOR_NAME_SIZE]; /* for people */
};

/* What OP reads: slots 0 to OP_READS_MAX - 1, its inputs and `rows`; TENSOR_NONE in empty ones. */
enum { OP_READS_MAX = OP_INPUTS_MAX + 1 };
static inline int op_reads(const struct op *op, int slot) {
    return slot < OP_INPUTS_MAX ? op->inputs[slot] : op->rows;
}

struct graph;

struct op_cost {
    double flops; /* a multiply-add counts two */
    double bytes; /* every tensor read or written once */
};

/* OUTPUT may take the place of INPUT when that dies here: each element is read before, or when,
 * the one of the same index is written. */
struct op_in_place {
    int output, input;
};

enum { OP_IN_PLACE_MAX = 2 };

struct op_rule {
    const char *name; /* "conv2d_grad_data" */
    int inputs;       /* slots, optional ones included */
    int outputs;
    /* Checks the inputs and fills shape and type of the outputs. */
    int (*shape)(struct graph *graph, struct op *op, struct error *err);
    /* Adds the operators that carry the gradients of op's outputs to its inputs (gradients.h).
     * NULL: nothing flows through it. */
    int (*gradient)(struct graph *graph, int op, struct error *err);
    double (*flops)(const struct graph *graph, const struct op *op);
    struct op_in_place in_place[OP_IN_PLACE_MAX]; /* tried in this order */
    int in_place_count;
};

const struct op_rule *op_rule(enum op_kind kind);
const char *op_name(enum op_kind kind);
/* Whether KIND also writes its input SLOT: running statistics. */
bool op_updates(enum op_kind kind, int slot);
struct op_cost op_cost(const struct graph *graph, const struct op *op);

#endif
