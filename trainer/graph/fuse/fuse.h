/* Fusion: rewrites groups of operators into fused ones that the backend has. One table of patterns;
 * applied to the forward graph before gradients are added (a fused operator has its own gradient
 * rule) and once more to the whole graph (patterns of the backward pass). Every level computes the
 * same as FUSION_NONE but for rounding. */
#ifndef TRAINER_GRAPH_FUSE_FUSE_H
#define TRAINER_GRAPH_FUSE_FUSE_H

#include "common/error.h"
#include "trainer/graph/backend.h"
#include "trainer/graph/graph.h"

enum fusion {
    FUSION_NONE, /* every operator by itself */
    /* Batch norm with the ReLU behind it; with addition and ReLU (both norms of a projection
     * block in one); add + ReLU; sums of gradients into the gradient of the norm behind. */
    FUSION_NORM,
    /* And the pool behind batch norm + ReLU; the backward pass of a region proposal network's head,
     * for the anchors alone that its losses see. */
    FUSION_ALL,
    /* And convolutions with the norms around them, where the backend has it, each for itself:
     * statistics in the epilogue, normalise + ReLU or the join in the prologue of the next one,
     * ReLU mask and batch-norm reductions in the epilogue of the data gradient, or there the mask
     * and the sums that are a bias's gradient, where norms are frozen. */
    FUSION_CONV
};

/* "none", "norm", "all", "conv"; -1 and an error for other names. */
int fusion_parse(const char *name, enum fusion *ret, struct error *err);
const char *fusion_name(enum fusion level);

int graph_fuse(struct graph *graph, const struct backend *backend, enum fusion level,
               struct error *err);
/* What FUSION_CONV adds, to a fused graph with its backward pass. */
int graph_fuse_convolutions(struct graph *graph, const struct backend *backend, struct error *err);

#endif
