#include "trainer/data/detect/detection_outline.h"

#include "tests/unit/trainer/data/coco/coco_files.h"
#include "trainer/data/coco/coco_load.h"
#include "trainer/data/detect/detection_objects.h"
#include "trainer/math/mask_target.h"

#include <string.h>

enum { SLOTS = 3, POLYGONS = 3, POINTS = 8, PLACES = 2 };

#define OBJECT(id, image, outline)                                                                 \
    "{\"id\":" #id ",\"image_id\":" #image ",\"category_id\":3,\"bbox\":[1,1,5,6],\"area\":1,"     \
    "\"segmentation\":" outline "}"

/* Picture 9 of 20 x 10: a triangle and a line of two points, a square; picture 4: runs. */
static const char SET[] =
    "{" TWO_IMAGES "," TWO_CATEGORIES
    ",\"annotations\":[" OBJECT(1, 9, "[[1,1,5,1,5,7],[2,2,3,3]]") "," OBJECT(
        2, 9, "[[2,2,6,2,6,6,2,6]]") "," OBJECT(3, 4,
                                                "{\"size\":[10,10],\"counts\":[11,3,86]}") "]}";

struct scene {
    struct coco_index index;
    struct detection_set set;
    struct detection_objects_scratch room;
    struct detection_bits bits;
    struct detection_fields fields;
    struct error err;
    uint8_t image[PLACES * 64];
    int32_t image_size[PLACES * 6];
    float gt_box[PLACES * SLOTS * 4];
    int32_t gt_label[PLACES * SLOTS];
    int32_t gt_count[PLACES];
    int32_t gt_mask_at[PLACES * SLOTS * MASK_FIELDS];
    uint8_t mask_bits[256];
    int32_t key[PLACES * 4];
    int32_t gt_parts[PLACES * SLOTS * MASK_PART_FIELDS];
    int32_t polygon[PLACES * POLYGONS * MASK_PART_FIELDS];
    float point[PLACES * POINTS * 2];
};

static void scene_make(struct scene *s, int polygons, int points) {
    const struct detection_options options = {.pick = DETECTION_PICK_USED};
    memset(s, 0, sizeof(*s));
    CU_ASSERT_EQUAL_FATAL(coco_load(&s->index, write_text("set.json", SET), NULL, &s->err), 0);
    CU_ASSERT_EQUAL_FATAL(detection_set_make(&s->set, &s->index, "/p", &options, &s->err), 0);
    memset(s->gt_parts, 0x77, sizeof(s->gt_parts));
    memset(s->polygon, 0x77, sizeof(s->polygon));
    memset(s->point, 0x77, sizeof(s->point));
    s->fields = (struct detection_fields){.slots = SLOTS,
                                          .image_bytes = 64,
                                          .pool_bytes = sizeof(s->mask_bits),
                                          .polygons = polygons,
                                          .points = points,
                                          .image = s->image,
                                          .image_size = s->image_size,
                                          .gt_box = s->gt_box,
                                          .gt_label = s->gt_label,
                                          .gt_count = s->gt_count,
                                          .gt_mask_at = s->gt_mask_at,
                                          .mask_bits = s->mask_bits,
                                          .key = s->key,
                                          .gt_parts = s->gt_parts,
                                          .polygon = s->polygon,
                                          .point = s->point};
    for (int i = 0; i < PLACES; i++)
        detection_fields_clear(&s->fields, i);
}

static void scene_done(struct scene *s) {
    detection_objects_scratch_done(&s->room);
    detection_bits_done(&s->bits);
    detection_set_done(&s->set);
    coco_index_done(&s->index);
}

/* Sample SAMPLE to place 1, scaled to twice its size by the host. */
static void fill(struct scene *s, size_t sample, bool flip) {
    const struct detect_size size = detection_picture_size(&s->set.pictures[sample]);
    const struct detection_draw draw = {.scaled = {2 * size.height, 2 * size.width},
                                        .flip = flip,
                                        .host_scaled = true,
                                        .rule = DETECT_SIZE_D2};
    CU_ASSERT_EQUAL_FATAL(
        detection_objects_fill(&s->room, &s->set, sample, &draw, &s->fields, 1, &s->bits, &s->err),
        0);
}

static void the_most_of_a_picture_is_counted(void) {
    struct scene s;
    int polygons = 0, points = 0;
    scene_make(&s, POLYGONS, POINTS);
    CU_ASSERT_EQUAL(detection_outline_measure(&s.set, &polygons, &points, &s.err), 0);
    CU_ASSERT(polygons == 2 && points == 7);
    scene_done(&s);
}

/* Places come one after the other: place 1 begins at polygon 3 and point 8. */
static void polygons_lie_one_behind_the_other(void) {
    static const int32_t parts[SLOTS][2] = {{3, 1}, {4, 1}, {0, 0}};
    static const int32_t polygon[POLYGONS][2] = {{8, 3}, {11, 4}, {0, 0}};
    static const float plain[POINTS][2] = {{2, 2},  {10, 2},  {10, 14}, {4, 4},
                                           {12, 4}, {12, 12}, {4, 12},  {0, 0}};
    struct scene s;
    for (int flip = 0; flip <= 1; flip++) {
        scene_make(&s, POLYGONS, POINTS);
        fill(&s, 1, flip == 1);
        CU_ASSERT_EQUAL(memcmp(&s.gt_parts[SLOTS * 2], parts, sizeof(parts)), 0);
        CU_ASSERT_EQUAL(memcmp(&s.polygon[POLYGONS * 2], polygon, sizeof(polygon)), 0);
        for (int i = 0; i < POINTS; i++) {
            const float *point = &s.point[2 * (POINTS + i)];
            CU_ASSERT_EQUAL(point[0], flip == 1 && i < 7 ? 40 - plain[i][0] : plain[i][0]);
            CU_ASSERT_EQUAL(point[1], plain[i][1]);
        }
        for (int i = 0; i < SLOTS * 2; i++)
            CU_ASSERT(s.gt_parts[i] == 0 && s.polygon[i] == 0);
        /* They have masks, of which bits say nothing. */
        for (int i = 0; i < SLOTS; i++)
            CU_ASSERT_EQUAL(mask_bits_given(&s.gt_mask_at[(SLOTS + i) * MASK_FIELDS]), i < 2);
        CU_ASSERT(s.bits.size == 2 && s.bits.bytes[0] == 0 && s.bits.bytes[1] == 0);
        scene_done(&s);
    }
}

static void what_does_not_fit_has_bits(void) {
    static const int rooms[][2] = {{POLYGONS, 6}, {1, POINTS}};
    for (int i = 0; i < 2; i++) {
        struct scene s;
        scene_make(&s, rooms[i][0], rooms[i][1]);
        fill(&s, 1, false);
        const int32_t *parts = &s.gt_parts[SLOTS * 2];
        CU_ASSERT(parts[1] == 1 && parts[3] == 0);
        const int32_t *at = &s.gt_mask_at[(SLOTS + 1) * MASK_FIELDS];
        CU_ASSERT(at[MASK_X] == 4 && at[MASK_WIDTH] == 8 && at[MASK_HEIGHT] == 8);
        scene_done(&s);
    }
}

static void runs_have_bits(void) {
    struct scene s;
    scene_make(&s, POLYGONS, POINTS);
    fill(&s, 0, false);
    CU_ASSERT_EQUAL(s.gt_parts[SLOTS * 2 + 1], 0);
    const int32_t *at = &s.gt_mask_at[SLOTS * MASK_FIELDS];
    CU_ASSERT(at[MASK_X] == 2 && at[MASK_Y] == 2 && at[MASK_WIDTH] == 2 && at[MASK_HEIGHT] == 6);
    scene_done(&s);
}

/* Detectron2 does not take polygons of two points. */
static void lines_are_no_outline(void) {
    static double numbers[] = {1, 1, 5, 5};
    static uint32_t sizes[] = {4};
    struct detection_outline_used used = {0};
    struct scene s;
    scene_make(&s, POLYGONS, POINTS);
    const struct coco_outline outline = {
        .numbers = numbers, .sizes = sizes, .count = 1, .number_count = 4};
    const struct detection_draw draw = {.scaled = {10, 20}, .rule = DETECT_SIZE_D2};
    CU_ASSERT_EQUAL(detection_outline_add(&s.fields, 0, 0, &outline, &draw, draw.scaled, &used),
                    DETECTION_OUTLINE_NONE);
    CU_ASSERT(used.polygons == 0 && s.gt_parts[1] == 0);
    scene_done(&s);
}

UNIT_SUITE("detect.detection_outline", UNIT(the_most_of_a_picture_is_counted),
           UNIT(polygons_lie_one_behind_the_other), UNIT(what_does_not_fit_has_bits),
           UNIT(runs_have_bits), UNIT(lines_are_no_outline))
