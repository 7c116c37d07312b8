/* Fusion of graph operators: replaces groups of operators by fused ones that the backend has. One
 * table of patterns, applied to the forward graph before gradients are added (a fused operator has
 * its own gradient rule) and again to the whole graph (patterns of the backward pass). All levels
 * compute the same as FUSION_NONE except for rounding. */
#ifndef TRAINER_GRAPH_FUSE_FUSE_H
#define TRAINER_GRAPH_FUSE_FUSE_H

#include "common/error.h"
#include "trainer/graph/backend.h"
#include "trainer/graph/graph.h"

enum fusion {
    FUSION_NONE, /* no fusion */
    /* Batch norm with the following ReLU, or with addition and ReLU (both norms of a projection
     * block in one); add + ReLU; sums of gradients with the gradient of the norm that reads
     * them. */
    FUSION_NORM,
    /* Also the pool after batch norm + ReLU; the backward pass of a region proposal network's
     * head, only for the anchors in its losses. */
    FUSION_ALL,
    /* Also convolutions with the norms around them, as far as the backend has it for each:
     * statistics in the epilogue, normalization + ReLU or the join in the prologue of the next
     * one, ReLU mask and batch norm reductions in the epilogue of the data gradient; with frozen
     * norms the mask and a bias's gradient sums there. */
    FUSION_CONV
};

/* Parses "none", "norm", "all", "conv"; fails for other names. */
int fusion_parse(const char *name, enum fusion *ret, struct error *err);
const char *fusion_name(enum fusion level);

int graph_fuse(struct graph *graph, const struct backend *backend, enum fusion level,
               struct error *err);
/* Applies the additional patterns of FUSION_CONV to a fused graph with its backward pass. */
int graph_fuse_convolutions(struct graph *graph, const struct backend *backend, struct error *err);

#endif
