/* Private to this room: the rules that the operator table is made of, and small helpers for them.
 */
#ifndef GRAPH_RULES_H
#define GRAPH_RULES_H

#include "common/error.h"
#include "graph/graph.h"

static inline const struct tensor *rule_input(const struct graph *graph, const struct op *op,
                                              int slot) {
    return op->inputs[slot] == TENSOR_NONE ? NULL : &graph->tensors[op->inputs[slot]];
}

/* Fails unless input SLOT is there with this type and shape. */
int rule_expect(const struct graph *graph, const struct op *op, int slot, enum dtype dtype,
                const struct shape *shape, struct error *err);
/* Fails unless input SLOT is there with this type and rank. */
int rule_expect_rank(const struct graph *graph, const struct op *op, int slot, enum dtype dtype,
                     int rank, struct error *err);

/* shape_conv.c: convolutions, pools, image. */
/* The shape of a convolution of input 0 with input 1, both checked. */
int rule_conv_output(const struct graph *graph, const struct op *op, struct shape *ret_shape,
                     struct error *err);
int shape_image_normalize(struct graph *graph, struct op *op, struct error *err);
int shape_conv2d(struct graph *graph, struct op *op, struct error *err);
int shape_conv2d_grad_data(struct graph *graph, struct op *op, struct error *err);
int shape_conv2d_grad_weight(struct graph *graph, struct op *op, struct error *err);
int shape_max_pool(struct graph *graph, struct op *op, struct error *err);
int shape_max_pool_grad(struct graph *graph, struct op *op, struct error *err);
int shape_global_avg_pool(struct graph *graph, struct op *op, struct error *err);
int shape_global_avg_pool_grad(struct graph *graph, struct op *op, struct error *err);
/* What a window makes of a side of SIZE pixels. */
int64_t shape_window(int64_t size, const struct op_window *window);

/* shape_norm.c */
int shape_batch_norm(struct graph *graph, struct op *op, struct error *err);
int shape_batch_norm_grad(struct graph *graph, struct op *op, struct error *err);

/* shape_fused.c: what FUSION_CONV makes. */
int shape_fused_conv2d(struct graph *graph, struct op *op, struct error *err);
int shape_norm_finalize(struct graph *graph, struct op *op, struct error *err);
int shape_norm_apply(struct graph *graph, struct op *op, struct error *err);
int shape_norm_conv2d_grad_weight(struct graph *graph, struct op *op, struct error *err);
int shape_conv2d_grad_data_norm(struct graph *graph, struct op *op, struct error *err);
int shape_norm_grad_apply(struct graph *graph, struct op *op, struct error *err);

/* shape_dense.c: element by element, linear, loss. */
int shape_relu(struct graph *graph, struct op *op, struct error *err);
int shape_pair(struct graph *graph, struct op *op, struct error *err);
int shape_linear(struct graph *graph, struct op *op, struct error *err);
int shape_linear_grad_data(struct graph *graph, struct op *op, struct error *err);
int shape_linear_grad_weight(struct graph *graph, struct op *op, struct error *err);
int shape_loss(struct graph *graph, struct op *op, struct error *err);
int shape_loss_grad(struct graph *graph, struct op *op, struct error *err);

/* gradient_rules.c */
int gradient_conv2d(struct graph *graph, int op, struct error *err);
int gradient_batch_norm(struct graph *graph, int op, struct error *err);
int gradient_relu(struct graph *graph, int op, struct error *err);
int gradient_add(struct graph *graph, int op, struct error *err);
int gradient_add_relu(struct graph *graph, int op, struct error *err);
int gradient_max_pool(struct graph *graph, int op, struct error *err);
int gradient_global_avg_pool(struct graph *graph, int op, struct error *err);
int gradient_linear(struct graph *graph, int op, struct error *err);
int gradient_loss(struct graph *graph, int op, struct error *err);

/* schedule.c: removes operators that nothing needs (kind OP_KINDS marks one that was rewritten
 * away) and renumbers the rest in their order. */
int graph_schedule(struct graph *graph, struct error *err);
int graph_compact(struct graph *graph, struct error *err);

#endif
