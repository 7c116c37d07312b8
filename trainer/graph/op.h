/* Operators of the graph. All are listed in ops.def, from which the enum, the table of rules and
 * every backend's own table are made. backend/ref defines their semantics; the comments in the
 * list say the same in words. To add an operator: one row in the list, one body in backend/ref,
 * one step in every other backend, one line in tests/ops/.
 *
 * Operators refer to their tensors by slot: inputs and outputs have fixed positions, listed per
 * kind below; an absent optional input is TENSOR_NONE, and so is an unused output. x, y, dx, dy
 * have the activation type; weights, statistics and all per-channel values have the wide type
 * (f32, or f64 in double mode). dX is the gradient of the loss by X. Geometry (boxes, scores,
 * thresholds) is f32, and numbers, labels and counts are i32 in every mode: selections must not
 * change under finite differences. */
#ifndef TRAINER_GRAPH_OP_H
#define TRAINER_GRAPH_OP_H

#include "common/error.h"
#include "trainer/graph/op_detect.h"
#include "trainer/graph/op_roi.h"
#include "trainer/graph/op_rpn.h"
#include "trainer/graph/tensor.h"
#include "trainer/math/pointwise.h"

#include <stdbool.h>

enum op_kind {
#define OP(kind, ...) OP_##kind,
#include "trainer/graph/ops.def"
    OP_KINDS
};

/* OP_SOFTMAX_CROSS_ENTROPY's output: sums over the batch, each sample times its weight. A class
 * ranks before another if its logit is greater, or equal with a lower number; a label with a NaN
 * logit is never among the first. TOP5 is top-min(5, classes). */
enum loss_metric { LOSS_SUM, LOSS_TOP1, LOSS_TOP5, LOSS_WEIGHT, LOSS_METRICS };

/* What follows a norm within its operator: attr.form of the three kinds of norm. A gradient has
 * the form of its forward operator. */
enum norm_form {
    NORM_PLAIN,         /* y = norm(x) */
    NORM_RELU,          /* y = relu(norm(x)) */
    NORM_ADD_RELU,      /* y = relu(norm(x) + side) */
    NORM_DUAL_ADD_RELU, /* y = relu(norm(x) + norm2(side)) */
    NORM_RELU_MAX_POOL, /* y = max_pool(relu(norm(x))), and the pool's index: batch statistics
                         * only */
    NORM_FORMS
};

/* Slots of the forward norms. The second five are for the DUAL form; NORM_SIDE also for the ADD
 * form. SAVED: per-channel mean and 1 / sqrt(variance + epsilon), biased, of this batch. */
enum norm_slot {
    NORM_X,
    NORM_GAMMA,
    NORM_BETA,
    NORM_MEAN, /* running statistics; updated by the training kinds */
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
    NORM_POOL_INDEX = NORM_SAVED_MEAN2 /* of NORM_RELU_MAX_POOL */
};

/* Slots of their gradients; TENSOR_NONE for those a kind does not need. */
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

enum frozen_norm_grad_slot {
    FROZEN_GRAD_DY,
    FROZEN_GRAD_Y, /* the forward output, if it has a ReLU */
    FROZEN_GRAD_GAMMA,
    FROZEN_GRAD_VARIANCE,
    FROZEN_GRAD_GAMMA2, /* DUAL */
    FROZEN_GRAD_VARIANCE2,
    FROZEN_GRAD_INPUTS,

    FROZEN_GRAD_DX = 0,
    FROZEN_GRAD_DSIDE,
    FROZEN_GRAD_OUTPUTS
};

enum affine_slot {
    AFFINE_X, /* as OP_CONV2D */
    AFFINE_W,
    AFFINE_BIAS,  /* [O], or */
    AFFINE_GAMMA, /* the four of a norm */
    AFFINE_BETA,
    AFFINE_MEAN,
    AFFINE_VARIANCE,
    AFFINE_SIDE, /* as y, or TENSOR_NONE */
    AFFINE_INPUTS
};

enum affine_grad_slot {
    AFFINE_GRAD_DY,
    AFFINE_GRAD_W,
    AFFINE_GRAD_GAMMA, /* of the frozen norm after the convolution; both or none */
    AFFINE_GRAD_VARIANCE,
    AFFINE_GRAD_Y,        /* the convolution's input, rectified, or TENSOR_NONE: no mask */
    AFFINE_GRAD_SHORTCUT, /* a second gradient of it, or TENSOR_NONE */
    AFFINE_GRAD_INPUTS,

    AFFINE_GRAD_G = 0,
    AFFINE_GRAD_DBIAS,
    AFFINE_GRAD_OUTPUTS
};

enum fused_conv_slot {
    FUSED_CONV_X,
    FUSED_CONV_W, /* absent in the APPLY kinds */
    FUSED_CONV_SCALE,
    FUSED_CONV_BIAS,
    FUSED_CONV_SIDE, /* JOIN: the summand; DUAL: x of the second norm */
    FUSED_CONV_SCALE2,
    FUSED_CONV_BIAS2,
    FUSED_CONV_INPUTS,

    FUSED_CONV_Y = 0,
    FUSED_CONV_SUM,
    FUSED_CONV_SQUARE_SUM,
    FUSED_CONV_JOIN, /* JOIN and DUAL: the convolution's input, written to memory */
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
    GRAD_DATA_NORM_X,        /* of the norm before the convolution */
    GRAD_DATA_NORM_GAMMA,
    GRAD_DATA_NORM_BETA,
    GRAD_DATA_NORM_MEAN, /* saved */
    GRAD_DATA_NORM_INVSTD,
    GRAD_DATA_NORM_SIDE, /* JOIN: the summand; DUAL: x of the second norm */
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

enum conv_backward_slot {
    CONV_BACKWARD_G, /* as OP_NORM_GRAD_APPLY: of the norm after the convolution */
    CONV_BACKWARD_Z,
    CONV_BACKWARD_COEFFICIENTS,
    CONV_BACKWARD_W,
    CONV_BACKWARD_X,     /* NORM, JOIN: of the norm before the convolution */
    CONV_BACKWARD_SCALE, /* NORM: as in OP_NORM_CONV2D_GRAD_WEIGHT */
    CONV_BACKWARD_BIAS,
    CONV_BACKWARD_GAMMA, /* as in OP_CONV2D_GRAD_DATA_NORM */
    CONV_BACKWARD_BETA,  /* not JOIN */
    CONV_BACKWARD_MEAN,
    CONV_BACKWARD_INVSTD,
    CONV_BACKWARD_SHORTCUT, /* JOIN: a second gradient of y */
    CONV_BACKWARD_Y,        /* the convolution's input, unless NORM recomputes it from x */
    CONV_BACKWARD_INPUTS,

    CONV_BACKWARD_DX = 0, /* as GRAD_DATA_NORM_G .. GRAD_DATA_NORM_COEFFICIENTS */
    CONV_BACKWARD_DGAMMA,
    CONV_BACKWARD_DBETA,
    CONV_BACKWARD_DX_COEFFICIENTS,
    CONV_BACKWARD_DW,
    CONV_BACKWARD_OUTPUTS
};

/* Maps of OP_CONCAT: the first inputs; TENSOR_NONE in the rest. */
enum { CONCAT_INPUTS = 6 };

enum { OP_INPUTS_MAX = NORM_GRAD_INPUTS, OP_OUTPUTS_MAX = GRAD_DATA_NORM_OUTPUTS };

/* A window over the rows and columns of a map, with padding on all four sides. A convolution's may
 * have another size across, as 1x7, and take its channels in groups: outputs of a group read the
 * inputs of the same group alone. */
struct op_window {
    int kernel;
    int stride;
    int pad;
    int groups; /* of a convolution, into which inputs and outputs divide; 0: one */
    struct op_across {
        int kernel, pad; /* of columns; kernel 0: as of rows */
    } across;
};

/* Kernel and padding of rows (AXIS 0) or columns (AXIS 1). */
static inline int op_window_kernel(const struct op_window *window, int axis) {
    return axis == 1 && window->across.kernel != 0 ? window->across.kernel : window->kernel;
}
static inline int op_window_pad(const struct op_window *window, int axis) {
    return axis == 1 && window->across.kernel != 0 ? window->across.pad : window->pad;
}
static inline int op_window_groups(const struct op_window *window) {
    return window->groups == 0 ? 1 : window->groups;
}
/* Returns true if rows and columns are alike and channels are one group: what many kernels need. */
static inline bool op_window_is_plain(const struct op_window *window) {
    return op_window_groups(window) == 1 && op_window_kernel(window, 1) == window->kernel &&
           op_window_pad(window, 1) == window->pad;
}

struct op_attr {
    struct op_window window;   /* convolutions and pools, also fused ones */
    double epsilon;            /* norms */
    double momentum;           /* norms */
    enum norm_form form;       /* norms */
    double label_smoothing;    /* losses */
    double gradient_scale;     /* gradient of the loss: 1 / N for a mean over N samples */
    float mean[3], std[3];     /* OP_IMAGE_NORMALIZE, of values in 0..1 */
    int channels;              /* OP_IMAGE_NORMALIZE: C */
    bool relu;                 /* OP_BIAS, OP_LINEAR, OP_CONV2D_AFFINE: y has a ReLU */
    bool activation;           /* OP_LINEAR: y is an activation */
    bool side;                 /* OP_FROZEN_NORM_GRAD: compute dside, OP_CONV2D_GRAD_DATA_AFFINE:
                                * compute dbias */
    double rate;               /* OP_DROPOUT: probability of a zero, below 1 */
    int layer;                 /* OP_DROPOUT: number of the layer, which has random numbers of its
                                * own */
    int channel;               /* OP_CHANNELS: the first one taken */
    struct shape target;       /* the output's shape, if the inputs do not determine it */
    struct detect_attr detect; /* operators of detection */
};

struct op {
    enum op_kind kind;
    int inputs[OP_INPUTS_MAX]; /* tensors of the graph, or TENSOR_NONE, like all below */
    int outputs[OP_OUTPUTS_MAX];
    /* i32 [1], or TENSOR_NONE for all: how many leading rows (of the first dimension) count, in
     * those activations that graph_rows names. Later rows of outputs are undefined, possibly NaN,
     * so a reader must select rows by number or label instead of multiplying by 0. A backend may
     * compute all rows. */
    int rows;
    struct op_attr attr;
    int forward;                 /* of a gradient: number of its forward operator; else -1 */
    char name[TENSOR_NAME_SIZE]; /* for messages */
};

/* Tensors that OP reads: slots 0 to OP_READS_MAX - 1, its inputs and `rows`; TENSOR_NONE in empty
 * ones. */
enum { OP_READS_MAX = OP_INPUTS_MAX + 1 };
static inline int op_reads(const struct op *op, int slot) {
    return slot < OP_INPUTS_MAX ? op->inputs[slot] : op->rows;
}

/* "conv2d_grad_data". */
const char *op_name(enum op_kind kind);
/* Returns the body of math/pointwise.h for KIND; POINTWISE_KINDS: none. */
enum pointwise op_pointwise(enum op_kind kind);
/* Returns true if KIND also writes its input SLOT: running statistics. */
bool op_updates(enum op_kind kind, int slot);

#endif
