/* Numbers of anchors and candidates for a struct detect_attr. */
#ifndef TRAINER_GRAPH_DETECT_GRID_H
#define TRAINER_GRAPH_DETECT_GRID_H

#include "trainer/graph/op_detect.h"
#include "trainer/math/anchor.h"
#include "trainer/math/proposal.h"

/* Returns the stride in pixels of the pyramid's level LEVEL, counted from 0. */
static inline int detect_cell(int level) {
    return 4 << level;
}

/* Returns the rows or columns of that level's map for a canvas of this many pixels, rounded up. */
int detect_cells(int canvas, int level);

struct anchor_grid detect_grid(const struct detect_attr *attr);

/* Candidates of each level, min(pre_nms, its anchors), level after level: level i has positions
 * first[i] to first[i + 1] - 1, and first[levels] is their total. */
struct detect_candidates {
    int levels;
    int first[DETECT_LEVELS_MAX + 1];
};
struct detect_candidates detect_candidates(const struct detect_attr *attr);

/* Returns 1 if boxes include their last pixels (math/box.h), else 0. */
float detect_plus(const struct detect_attr *attr);
struct proposal_rule detect_proposal_rule(const struct detect_attr *attr);

#endif
