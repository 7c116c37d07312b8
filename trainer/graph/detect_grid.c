#include "trainer/graph/detect_grid.h"

int detect_cells(int canvas, int level) {
    int size = detect_cell(level);
    return (canvas + size - 1) / size;
}

struct anchor_grid detect_grid(const struct detect_attr *attr) {
    struct anchor_grid grid = {.levels = attr->levels};
    for (int i = 0; i < attr->levels; i++) {
        struct anchor_level *level = &grid.level[i];
        level->first = grid.count;
        level->height = detect_cells(attr->canvas_h, i);
        level->width = detect_cells(attr->canvas_w, i);
        level->step_y = attr->stride_h[i];
        level->step_x = attr->stride_w[i];
        for (int shape = 0; shape < ANCHOR_SHAPES; shape++) {
            float x = attr->anchor_offset * (float)(attr->stride_w[i] - 1);
            float y = attr->anchor_offset * (float)(attr->stride_h[i] - 1);
            level->cell[shape][0] = x - attr->half_w[i][shape];
            level->cell[shape][1] = y - attr->half_h[i][shape];
            level->cell[shape][2] = x + attr->half_w[i][shape];
            level->cell[shape][3] = y + attr->half_h[i][shape];
        }
        grid.count += anchor_level_count(level);
    }
    return grid;
}

struct detect_candidates detect_candidates(const struct detect_attr *attr) {
    const struct anchor_grid grid = detect_grid(attr);
    struct detect_candidates ret = {.levels = attr->levels};
    for (int i = 0; i < attr->levels; i++) {
        int anchors = anchor_level_count(&grid.level[i]);
        ret.first[i + 1] = ret.first[i] + (anchors < attr->pre_nms ? anchors : attr->pre_nms);
    }
    return ret;
}

float detect_plus(const struct detect_attr *attr) {
    return (attr->flags & DETECT_PLUS_ONE) != 0 ? 1.0F : 0.0F;
}

struct proposal_rule detect_proposal_rule(const struct detect_attr *attr) {
    return (struct proposal_rule){.plus = detect_plus(attr),
                                  .min_side = attr->min_side,
                                  .exclusive = (attr->flags & DETECT_SIDE_ABOVE) != 0,
                                  .by_logit = (attr->flags & DETECT_ORDER_BY_LOGIT) != 0};
}
