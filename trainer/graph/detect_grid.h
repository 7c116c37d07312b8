/* The anchors and candidates that struct detect_attr describes. */
#ifndef TRAINER_GRAPH_DETECT_GRID_H
#define TRAINER_GRAPH_DETECT_GRID_H

#include "trainer/graph/op_detect.h"
#include "trainer/math/anchor.h"
#include "trainer/math/proposal.h"

/* Pixels of the picture from cell to cell of the map of LEVEL of the pyramid, which counts from 0.
 */
static inline int detect_cell(int level) {
    return 4 << level;
}

/* Rows or columns of that map, on a canvas of so many pixels: as many as it takes. */
int detect_cells(int canvas, int level);

struct anchor_grid detect_grid(const struct detect_attr *attr);

/* The candidates of each level, min(pre_nms, its anchors), one level behind the other: level i has
 * places first[i] to first[i + 1] - 1, and first[levels] are all. */
struct detect_candidates {
    int levels;
    int first[DETECT_LEVELS_MAX + 1];
};
struct detect_candidates detect_candidates(const struct detect_attr *attr);

/* 1 where the last pixel of a box is inside (math/box.h), else 0. */
float detect_plus(const struct detect_attr *attr);
struct proposal_rule detect_proposal_rule(const struct detect_attr *attr);

#endif
