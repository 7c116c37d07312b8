#include "tests/support/unit.h"
#include "trainer/math/anchor.h"

#include <string.h>

/* Half sides of the 15 anchors as torchvision 0.29.2's AnchorGenerator prints them. */
static void rounded_cells_are_torchvisions(void) {
    static const float half[5][3][2] = {{{23, 11}, {16, 16}, {11, 23}},
                                        {{45, 23}, {32, 32}, {23, 45}},
                                        {{91, 45}, {64, 64}, {45, 91}},
                                        {{181, 91}, {128, 128}, {91, 181}},
                                        {{362, 181}, {256, 256}, {181, 362}}};
    for (int level = 0; level < 5; level++) {
        float cell[ANCHOR_SHAPES][4];
        anchor_cell(32 << level, 4 << level, ANCHOR_ROUNDED, cell);
        for (int shape = 0; shape < ANCHOR_SHAPES; shape++)
            for (int i = 0; i < 4; i++)
                CU_ASSERT_EQUAL(cell[shape][i], (i < 2 ? -1 : 1) * half[level][shape][i % 2]);
    }
}

/* Detectron2's, by hand: 32 sqrt 2 / 2 and 32 / sqrt 2 / 2. */
static void cells_that_are_not_rounded(void) {
    float cell[ANCHOR_SHAPES][4];
    anchor_cell(32, 4, ANCHOR_EXACT, cell);
    CU_ASSERT_EQUAL(cell[0][2], 22.627416998f);
    CU_ASSERT_EQUAL(cell[0][1], -11.313708499f);
    CU_ASSERT_EQUAL(cell[2][3], 22.627416998f);
    CU_ASSERT_EQUAL(cell[1][0], -16);
}

/* Those of maskrcnn-benchmark, last pixels included (generate_anchors of Detectron, as in its
 * docstring): corners about a cell with its middle at (stride - 1) / 2. */
static void enlarged_cells_are_detectrons(void) {
    static const float corners[5][3][4] = {
        {{-22, -10, 25, 13}, {-14, -14, 17, 17}, {-10, -22, 13, 25}},
        {{-40, -20, 47, 27}, {-28, -28, 35, 35}, {-20, -44, 27, 51}},
        {{-84, -40, 99, 55}, {-56, -56, 71, 71}, {-36, -80, 51, 95}},
        {{-164, -72, 195, 103}, {-112, -112, 143, 143}, {-76, -168, 107, 199}},
        {{-332, -152, 395, 215}, {-224, -224, 287, 287}, {-148, -328, 211, 391}}};
    for (int level = 0; level < 5; level++) {
        float cell[ANCHOR_SHAPES][4], middle = (float)((4 << level) - 1) / 2;
        anchor_cell(32 << level, 4 << level, ANCHOR_SCALED, cell);
        for (int shape = 0; shape < ANCHOR_SHAPES; shape++)
            for (int i = 0; i < 4; i++)
                CU_ASSERT_EQUAL(middle + cell[shape][i], corners[level][shape][i]);
    }
}

/* The maps of a canvas of 800 x 1088: P6 has 13 rows, so that its step is 800 / 13 = 61 down. */
static struct anchor_grid canvas_grid(void) {
    struct anchor_grid grid;
    memset(&grid, 0, sizeof(grid));
    grid.levels = 5;
    for (int i = 0; i < 5; i++) {
        struct anchor_level *level = &grid.level[i];
        int stride = 4 << i;
        level->first = grid.count;
        level->height = (800 + stride - 1) / stride;
        level->width = (1088 + stride - 1) / stride;
        level->step_y = 800 / level->height;
        level->step_x = 1088 / level->width;
        anchor_cell(32 << i, 4 << i, ANCHOR_ROUNDED, level->cell);
        grid.count += anchor_level_count(level);
    }
    return grid;
}

static void numbers_run_by_level_row_column_and_shape(void) {
    const struct anchor_grid grid = canvas_grid();
    static const int firsts[] = {0, 163200, 204000, 214200, 216750};
    CU_ASSERT_EQUAL(grid.count, 163200 + 40800 + 10200 + 2550 + 663);
    CU_ASSERT_EQUAL(grid.level[4].step_y, 61);
    CU_ASSERT_EQUAL(grid.level[4].step_x, 64);
    for (int i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(grid.level[i].first, firsts[i]);
        CU_ASSERT_EQUAL(anchor_level_of(&grid, firsts[i]), i);
        if (i > 0)
            CU_ASSERT_EQUAL(anchor_level_of(&grid, firsts[i] - 1), i - 1);
    }
    CU_ASSERT_EQUAL(anchor_level_of(&grid, grid.count - 1), 4);
    float box[4];
    anchor_box(&grid, 0, box);
    CU_ASSERT(box[0] == -23 && box[1] == -11 && box[2] == 23 && box[3] == 11);
    anchor_box(&grid, (2 * 272 + 5) * 3 + 2, box); /* row 2, column 5 of P2 */
    CU_ASSERT(box[0] == 20 - 11 && box[1] == 8 - 23 && box[2] == 20 + 11 && box[3] == 8 + 23);
    anchor_box(&grid, grid.count - 1, box); /* row 12, column 16 of P6 */
    CU_ASSERT(box[0] == 1024 - 181 && box[1] == 732 - 362 && box[2] == 1024 + 181);
}

UNIT_SUITE("kernels.anchor", UNIT(rounded_cells_are_torchvisions), UNIT(cells_that_are_not_rounded),
           UNIT(enlarged_cells_are_detectrons), UNIT(numbers_run_by_level_row_column_and_shape))
