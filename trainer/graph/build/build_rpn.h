/* Builder functions for a region proposal network (op_rpn.h).
 *
 * They behave as those of build.h: the first error is kept, and later calls do nothing. LOGITS and
 * DELTAS have a tensor for each of attr->levels. */
#ifndef TRAINER_GRAPH_BUILD_BUILD_RPN_H
#define TRAINER_GRAPH_BUILD_BUILD_RPN_H

#include "trainer/graph/graph.h"

struct rpn_proposals {
    int box, score, count; /* of OP_PROPOSALS */
    int nan;               /* of OP_RPN_TOP_K */
};
/* Adds the operators that select proposals: the best candidates of each level, their boxes,
 * non-maximum suppression, the best over all levels. Without gradients. */
struct rpn_proposals graph_proposals(struct graph *graph, const char *name, const int *logits,
                                     const int *deltas, int image_size,
                                     const struct detect_attr *attr);

struct rpn_samples {
    int index, label, target, count; /* of OP_RPN_TARGETS */
};
struct rpn_samples graph_rpn_targets(struct graph *graph, const char *name, int gt_box,
                                     int gt_count, int image_size, int key,
                                     const struct detect_attr *attr);

/* Adds the losses (enum rpn_loss); marked as one of the graph's losses. */
int graph_rpn_loss(struct graph *graph, const char *name, const int *logits, const int *deltas,
                   const struct rpn_samples *samples, const struct detect_attr *attr);

#endif
