#include "tests/support/unit.h"
#include "trainer/graph/detect_grid.h"

/* The canvas of 800 x 1088: 25 rows of P5 make 13 of P6. */
static const struct detect_attr attr = {.canvas_h = 800,
                                        .canvas_w = 1088,
                                        .levels = 5,
                                        .stride_h = {4, 8, 16, 32, 61},
                                        .stride_w = {4, 8, 16, 32, 64},
                                        .half_w = {{23, 16, 11}},
                                        .half_h = {{11, 16, 23}},
                                        .pre_nms = 2000};

static void maps_are_rounded_up(void) {
    const struct anchor_grid grid = detect_grid(&attr);
    CU_ASSERT_EQUAL(grid.count, 163200 + 40800 + 10200 + 2550 + 663);
    CU_ASSERT_EQUAL(grid.level[4].height, 13);
    CU_ASSERT_EQUAL(grid.level[4].width, 17);
    CU_ASSERT_EQUAL(grid.level[4].step_y, 61);
    CU_ASSERT_EQUAL(grid.level[4].first, 216750);
    CU_ASSERT_EQUAL(grid.level[0].cell[0][0], -23);
    CU_ASSERT_EQUAL(grid.level[0].cell[2][3], 23);
}

static void candidates_are_no_more_than_anchors(void) {
    const struct detect_candidates places = detect_candidates(&attr);
    static const int first[] = {0, 2000, 4000, 6000, 8000, 8663};
    CU_ASSERT_EQUAL(places.levels, 5);
    for (int i = 0; i <= 5; i++)
        CU_ASSERT_EQUAL(places.first[i], first[i]);
}

/* Detectron's first anchor: (-22, -10, 25, 13), about the middle of four pixels. */
static void anchors_may_stand_in_the_middle_of_their_cell(void) {
    struct detect_attr middle = attr;
    middle.anchor_offset = 0.5F;
    middle.half_w[0][0] = 23.5F;
    middle.half_h[0][0] = 11.5F;
    const struct anchor_grid grid = detect_grid(&middle);
    const float *cell = grid.level[0].cell[0];
    CU_ASSERT(cell[0] == -22 && cell[1] == -10 && cell[2] == 25 && cell[3] == 13);
}

UNIT_SUITE("graph.detect_grid", UNIT(maps_are_rounded_up),
           UNIT(candidates_are_no_more_than_anchors),
           UNIT(anchors_may_stand_in_the_middle_of_their_cell))
