/* What each training does differently, against its source: detectron2's config/defaults.py and
 * configs/Base-RCNN-FPN.yaml, maskrcnn-benchmark's config/defaults.py and
 * configs/e2e_mask_rcnn_R_50_FPN_1x.yaml. That a switch changes what an operator answers is tested
 * with the operator (tests/ops). */
#include "trainer/models/detect_preset.h"

#include "tests/support/unit.h"
#include "trainer/graph/detect_grid.h"
#include "trainer/math/roi_level.h"

static const int sides[] = {32, 64, 128, 256, 512};

static struct detect_canvas canvas_of(bool training) {
    return (struct detect_canvas){.height = 800,
                                  .width = 1088,
                                  .anchors = sides,
                                  .objects = 8,
                                  .classes = 80,
                                  .training = training};
}

static struct detect_attr rpn_of(const char *name, bool training) {
    const struct detect_canvas canvas = canvas_of(training);
    const struct detect_preset *preset = detect_preset_find(name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(preset);
    return detect_preset_rpn(preset, &canvas);
}

static struct detect_attr regions_of(const char *name, bool training) {
    const struct detect_canvas canvas = canvas_of(training);
    return detect_preset_regions(detect_preset_find(name), &canvas);
}

/* Of 13 rows of P6 the last anchor's centre: 12 cells of 800 / 13 = 61 px, of 64 px, and of 64 px
 * with an offset of 31.5. */
static void the_last_anchor_lies_where_the_cells_say(void) {
    static const struct {
        const char *preset;
        float y, half_w;
    } rows[] = {{"tv", 732, 181}, {"d2", 768, 181.019336F}, {"mlperf", 799.5F, 179.5F}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct detect_attr attr = rpn_of(rows[i].preset, true);
        const struct anchor_grid grid = detect_grid(&attr);
        float box[4];
        anchor_box(&grid, grid.count - 3, box); /* the flat one has the first of three numbers */
        CU_ASSERT_EQUAL(grid.count, 163200 + 40800 + 10200 + 2550 + 663);
        CU_ASSERT_DOUBLE_EQUAL((box[1] + box[3]) / 2, rows[i].y, 1e-3);
        anchor_box(&grid, grid.count - 1, box); /* and the upright one the last */
        CU_ASSERT_DOUBLE_EQUAL((box[2] - box[0]) / 2, rows[i].half_w, 1e-3);
    }
}

/* MODEL.RPN.{PRE,POST}_NMS_TOPK_{TEST,TRAIN}; FPN_POST_NMS_TOP_N_TRAIN 12000 of twelve pictures. */
static void so_many_proposals_are_kept(void) {
    static const char *const names[] = {"tv", "d2", "mlperf"};
    for (int i = 0; i < 3; i++) {
        const struct detect_attr trains = rpn_of(names[i], true), scores = rpn_of(names[i], false);
        CU_ASSERT(trains.pre_nms == 2000 && scores.pre_nms == 1000);
        CU_ASSERT(trains.post_nms == (i == 0 ? 2000 : 1000) && scores.post_nms == 1000);
        CU_ASSERT_EQUAL((trains.flags & DETECT_TOP_OF_BATCH) != 0, i == 2);
        CU_ASSERT_EQUAL(scores.flags & DETECT_TOP_OF_BATCH, 0);
        CU_ASSERT(trains.samples == 256 && trains.positives == 128);
        CU_ASSERT(trains.nms_threshold == 0.7F && trains.foreground_iou == 0.7F);
        CU_ASSERT_EQUAL(trains.background_iou, 0.3F);
    }
}

/* SMOOTH_L1_BETA 0.0 of both losses, 1 / 9 and 1; RPN losses over BATCH_SIZE_PER_IMAGE x pictures.
 */
static void losses_are_theirs(void) {
    CU_ASSERT_EQUAL(rpn_of("tv", true).beta, 1.0F / 9);
    CU_ASSERT_EQUAL(regions_of("tv", true).beta, 1.0F / 9);
    CU_ASSERT_EQUAL(rpn_of("d2", true).beta, 0);
    CU_ASSERT_EQUAL(regions_of("d2", true).beta, 0);
    CU_ASSERT_EQUAL(rpn_of("mlperf", true).beta, 1.0F / 9);
    CU_ASSERT_EQUAL(regions_of("mlperf", true).beta, 1);
    CU_ASSERT((rpn_of("tv", true).flags & DETECT_RPN_FIXED_COUNT) == 0);
    CU_ASSERT((rpn_of("d2", true).flags & DETECT_RPN_FIXED_COUNT) != 0);
    CU_ASSERT((rpn_of("mlperf", true).flags & DETECT_RPN_FIXED_COUNT) == 0);
}

/* The map of a region of 112 x 112 * (1 - 3e-6) pixels: x is 1 / 2 * (1 - 1.5e-6), its logarithm
 * -1 - 2.2e-6, and that of x + 1e-6 is above -1. */
static int map_of(const struct detect_attr *attr) {
    const float plus = detect_plus(attr), box[4] = {0, 0, 111.999664F - plus, 112 - plus};
    return roi_level(box, attr->levels, attr->level_epsilon,
                     (attr->flags & DETECT_LEVEL_INSIDE) != 0, plus);
}

/* ROIAlignV2 with sampling ratio 0, level by log2(x + 1e-8); ROIAlign with 2: torchvision's by
 * log2(x) + 1e-6, maskrcnn-benchmark's (modeling/poolers.py, LevelMapper) by log2(x + 1e-6). */
static void regions_are_read_their_way(void) {
    const struct detect_attr tv = regions_of("tv", true), d2 = regions_of("d2", true);
    const struct detect_attr mlperf = regions_of("mlperf", true);
    const unsigned way = DETECT_ROI_ALIGNED | DETECT_LEVEL_INSIDE;
    CU_ASSERT_EQUAL(tv.flags & way, 0);
    CU_ASSERT_EQUAL(d2.flags & way, way);
    CU_ASSERT_EQUAL(mlperf.flags & way, DETECT_LEVEL_INSIDE);
    CU_ASSERT(tv.sampling == 2 && d2.sampling == 0 && mlperf.sampling == 2);
    CU_ASSERT(tv.level_epsilon == 1e-6F && d2.level_epsilon == 1e-8F);
    CU_ASSERT_EQUAL(mlperf.level_epsilon, 1e-6F);
    CU_ASSERT(map_of(&tv) == 0 && map_of(&d2) == 0 && map_of(&mlperf) == 1);
}

/* torchvision wants sides of 1e-3, detectron2 any above 0, maskrcnn-benchmark none. Detectron2
 * alone has no sigmoid before NMS (maskrcnn-benchmark: modeling/rpn/inference.py). */
static void sides_and_order_of_proposals_are_theirs(void) {
    const unsigned both = DETECT_SIDE_ABOVE | DETECT_ORDER_BY_LOGIT;
    CU_ASSERT(rpn_of("tv", true).min_side == 1e-3F && (rpn_of("tv", true).flags & both) == 0);
    CU_ASSERT(rpn_of("d2", true).min_side == 0 && (rpn_of("d2", true).flags & both) == both);
    CU_ASSERT_EQUAL(rpn_of("mlperf", true).min_side, 0);
    CU_ASSERT_EQUAL(rpn_of("mlperf", true).flags & both, 0);
    CU_ASSERT_EQUAL(regions_of("tv", false).min_side, 1e-2F);
    CU_ASSERT_EQUAL(regions_of("d2", false).min_side, 0);
}

static void boxes_pixels_and_masks_are_theirs(void) {
    const struct detect_preset *d2 = detect_preset_find("d2"), *mb = detect_preset_find("mlperf");
    const struct detect_preset *tv = detect_preset_find("tv");
    const unsigned old = DETECT_PLUS_ONE | DETECT_ANCHORS_INSIDE;
    const unsigned both = DETECT_MASK_POLYGON | DETECT_PIXELS_BGR;
    CU_ASSERT_EQUAL(tv->flags & (old | both), 0);
    CU_ASSERT_EQUAL(d2->flags & (old | both), both);
    CU_ASSERT_EQUAL(mb->flags & (old | both), old | both);
    CU_ASSERT(!tv->stride_first && d2->stride_first && mb->stride_first);
    CU_ASSERT(tv->std[0] == 0 && d2->std[0] == 1 && mb->std[0] == 1);
    CU_ASSERT(d2->mean[0] == 103.53F && d2->mean[1] == 116.28F && d2->mean[2] == 123.675F);
    CU_ASSERT(mb->mean[0] == 102.9801F && mb->mean[1] == 115.9465F && mb->mean[2] == 122.7717F);
    CU_ASSERT(d2->mask_side == 0.1F && mb->mask_side == 1);
}

UNIT_SUITE("models.detect_preset", UNIT(the_last_anchor_lies_where_the_cells_say),
           UNIT(so_many_proposals_are_kept), UNIT(losses_are_theirs),
           UNIT(regions_are_read_their_way), UNIT(sides_and_order_of_proposals_are_theirs),
           UNIT(boxes_pixels_and_masks_are_theirs))
