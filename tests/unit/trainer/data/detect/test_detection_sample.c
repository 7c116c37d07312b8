#include "trainer/data/detect/detection_sample.h"

#include "common/file/file.h"
#include "tests/unit/trainer/data/coco/coco_files.h"
#include "tests/unit/trainer/data/detect/golden_sizes.h"
#include "trainer/data/coco/coco_load.h"
#include "trainer/eval/rle_text.h"
#include "trainer/math/bilinear.h"
#include "trainer/math/image_size.h"
#include "trainer/math/sample_key.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { HEIGHT = 30, WIDTH = 40, SLOTS = 4, PLACES = 2 };

static const char OBJECTS[] =
    "{\"id\":1,\"image_id\":1,\"category_id\":90,\"bbox\":[2,3,10,12],\"area\":1,"
    "\"segmentation\":[[2,3,12,3,12,15,2,15]]},"
    "{\"id\":2,\"image_id\":1,\"category_id\":3,\"bbox\":[20,5,30,9.5],\"area\":1,"
    "\"segmentation\":{\"size\":[30,40],\"counts\":[605,9,21,9,556]}},"
    "{\"id\":3,\"image_id\":1,\"category_id\":3,\"bbox\":[0,0,4,4],\"area\":1}";

/* A set with one picture of WIDTH x HEIGHT noise, a batch of PLACES, and the worker for it. */
struct scene {
    struct coco_index index;
    struct detection_set set;
    struct detection_worker worker;
    struct detection_recipe recipe;
    struct detection_bits bits[PLACES];
    struct detection_fields fields;
    struct image picture;
    struct error err;
    uint8_t *image;
    int32_t image_size[PLACES * IMAGE_SIZE_FIELDS];
    float gt_box[PLACES * SLOTS * 4];
    int32_t gt_label[PLACES * SLOTS];
    int32_t gt_count[PLACES];
    int32_t gt_mask_at[PLACES * SLOTS * MASK_FIELDS];
    uint8_t mask_bits[4096];
    int32_t key[PLACES * SAMPLE_KEY_WORDS];
};

/* Opens the set without writing the picture's file. */
static void scene_open(struct scene *s, int height, int width, const char *objects) {
    static char json[1 << 19];
    const struct detection_options options = {.pick = DETECTION_PICK_ALL};
    *s = (struct scene){.recipe = {.sizes = {DETECT_SIZE_TV, 60, 100},
                                   .pixels_max = DETECTION_PIXELS_DEFAULT,
                                   .flip = true,
                                   .seed = UINT64_C(0x123456789abcdef0)}};
    snprintf(json, sizeof(json),
             "{\"images\":[{\"id\":1,\"file_name\":\"one.png\",\"width\":%d,\"height\":%d}],"
             "\"annotations\":[%s]," TWO_CATEGORIES "}",
             width, height, objects);
    CU_ASSERT_EQUAL_FATAL(coco_load(&s->index, write_text("set.json", json), NULL, &s->err), 0);
    CU_ASSERT_EQUAL_FATAL(
        detection_set_make(&s->set, &s->index, unit_temp_dir(), &options, &s->err), 0);
}

static void scene_make(struct scene *s, int height, int width, const char *objects) {
    scene_open(s, height, width, objects);
    CU_ASSERT_EQUAL_FATAL(image_resize(&s->picture, width, height, NULL), 0);
    for (int i = 0; i < width * height * 3; i++)
        s->picture.pixels[i] = (uint8_t)(i * 37 + i / 97);
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/one.png", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(picture_write(&s->picture, true, path, &s->err), 0);
}

/* Allocates the fields for the current recipe, filled with garbage. */
static void scene_fields(struct scene *s) {
    free(s->image);
    size_t bytes = detection_image_bytes(&s->set, &s->recipe);
    s->image = malloc(PLACES * bytes);
    memset(s->image, 0x77, PLACES * bytes);
    memset(s->gt_box, 0x77, sizeof(s->gt_box));
    memset(s->gt_label, 0x77, sizeof(s->gt_label));
    memset(s->gt_mask_at, 0x77, sizeof(s->gt_mask_at));
    s->fields = (struct detection_fields){.slots = SLOTS,
                                          .image_bytes = bytes,
                                          .pool_bytes = sizeof(s->mask_bits),
                                          .image = s->image,
                                          .image_size = s->image_size,
                                          .gt_box = s->gt_box,
                                          .gt_label = s->gt_label,
                                          .gt_count = s->gt_count,
                                          .gt_mask_at = s->gt_mask_at,
                                          .mask_bits = s->mask_bits,
                                          .key = s->key};
}

static int scene_fill(struct scene *s, uint32_t epoch) {
    int64_t dropped = 0;
    scene_fields(s);
    detection_sample_clear(&s->fields, 0, &s->bits[0]);
    if (detection_sample_fill(&s->worker, &s->set, &s->recipe, 0, epoch, &s->fields, 1, &s->bits[1],
                              &s->err) != 0)
        return -1;
    return detection_bits_gather(&s->fields, s->bits, PLACES, &dropped, &s->err);
}

static void scene_done(struct scene *s) {
    detection_worker_done(&s->worker);
    detection_set_done(&s->set);
    coco_index_done(&s->index);
    image_done(&s->picture);
    for (int i = 0; i < PLACES; i++)
        detection_bits_done(&s->bits[i]);
    free(s->image);
}

/* Returns the first epoch that mirrors the picture, or the first one that does not. */
static uint32_t epoch_with(const struct scene *s, bool flip) {
    uint32_t epoch = 0;
    while (detection_draw(&s->recipe, (struct detect_size){HEIGHT, WIDTH}, epoch, 0).flip != flip)
        epoch++;
    return epoch;
}

static void a_place_has_picture_boxes_labels_and_masks(void) {
    struct scene s;
    scene_make(&s, HEIGHT, WIDTH, OBJECTS);
    uint32_t epoch = epoch_with(&s, false);
    CU_ASSERT_EQUAL_FATAL(scene_fill(&s, epoch), 0);
    size_t bytes = HEIGHT * WIDTH * 3;
    const uint8_t *image = s.image + s.fields.image_bytes;
    CU_ASSERT_EQUAL(memcmp(image, s.picture.pixels, bytes), 0);
    for (size_t i = bytes; i < s.fields.image_bytes; i++)
        CU_ASSERT_EQUAL(image[i], 0);
    static const int32_t size[IMAGE_SIZE_FIELDS] = {HEIGHT, WIDTH, 60, 80, 0, 1};
    CU_ASSERT_EQUAL(memcmp(&s.image_size[IMAGE_SIZE_FIELDS], size, sizeof(size)), 0);
    static const float boxes[SLOTS][4] = {{4, 6, 24, 30}, {40, 10, 80, 29}, {0, 0, 8, 8}};
    CU_ASSERT_EQUAL(memcmp(&s.gt_box[SLOTS * 4], boxes, sizeof(boxes)), 0);
    static const int32_t labels[SLOTS] = {2, 1, 1, 0};
    CU_ASSERT_EQUAL(memcmp(&s.gt_label[SLOTS], labels, sizeof(labels)), 0);
    CU_ASSERT_EQUAL(s.gt_count[1], 3);
    const int32_t *at = &s.gt_mask_at[SLOTS * MASK_FIELDS];
    static const int32_t crop[MASK_FIELDS] = {0, 2, 3, 10, 12};
    CU_ASSERT_EQUAL(memcmp(at, crop, sizeof(crop)), 0);
    CU_ASSERT_EQUAL(mask_bits_get(s.mask_bits, at, 11, 14), 1);
    at += MASK_FIELDS;
    CU_ASSERT(at[MASK_X] == 20 && at[MASK_Y] == 5 && at[MASK_WIDTH] == 2);
    CU_ASSERT_EQUAL(at[MASK_HEIGHT], 9);
    CU_ASSERT_FALSE(mask_bits_given(at + MASK_FIELDS));
    CU_ASSERT_FALSE(mask_bits_given(at + 2 * MASK_FIELDS));
    const int32_t key[SAMPLE_KEY_WORDS] = {(int32_t)0x9abcdef0U, 0x12345678, (int32_t)epoch, 0};
    CU_ASSERT_EQUAL(memcmp(&s.key[SAMPLE_KEY_WORDS], key, sizeof(key)), 0);
    scene_done(&s);
}

static void an_empty_place_has_one_pixel_and_nothing_in_it(void) {
    struct scene s;
    scene_make(&s, HEIGHT, WIDTH, OBJECTS);
    CU_ASSERT_EQUAL_FATAL(scene_fill(&s, 0), 0);
    static const int32_t size[IMAGE_SIZE_FIELDS] = {1, 1, 1, 1, 0, 0};
    CU_ASSERT_EQUAL(memcmp(s.image_size, size, sizeof(size)), 0);
    CU_ASSERT_EQUAL(s.gt_count[0], 0);
    for (int i = 0; i < SLOTS; i++)
        CU_ASSERT(s.gt_label[i] == 0 && !mask_bits_given(&s.gt_mask_at[i * MASK_FIELDS]));
    for (size_t i = 0; i < s.fields.image_bytes; i++)
        CU_ASSERT_EQUAL(s.image[i], 0);
    scene_done(&s);
}

/* Boxes of pictures of several sizes, as the sample has them, compared with torchvision's. */
static void boxes_are_torchvisions_to_the_bit(void) {
    for (size_t i = 0; i < sizeof(golden_boxes) / sizeof(golden_boxes[0]); i++) {
        const struct golden_box *golden = &golden_boxes[i];
        const double *box = golden->xywh;
        char object[256];
        struct scene s;
        snprintf(object, sizeof(object),
                 "{\"id\":1,\"image_id\":1,\"category_id\":3,\"bbox\":[%.17g,%.17g,%.17g,%.17g],"
                 "\"area\":1}",
                 box[0], box[1], box[2], box[3]);
        scene_open(&s, golden->height, golden->width, object);
        s.recipe.sizes = (struct detect_sizes){DETECT_SIZE_TV, 800, 1333};
        scene_fields(&s);
        struct detection_draw draw = {
            .scaled = detect_resized(&s.recipe.sizes,
                                     (struct detect_size){golden->height, golden->width}),
            .flip = golden->flip == 1};
        detection_sample_clear(&s.fields, 1, &s.bits[1]);
        CU_ASSERT_EQUAL_FATAL(detection_objects_fill(&s.worker.objects, &s.set, 0, &draw, &s.fields,
                                                     1, &s.bits[1], &s.err),
                              0);
        CU_ASSERT_EQUAL(memcmp(&s.gt_box[SLOTS * 4], golden->box, sizeof(golden->box)), 0);
        scene_done(&s);
    }
}

/* Canvases are chosen for the largest size. From 3 x 62, Detectron2 makes 65 x 1333 pixels if 640
 * is drawn and 64 x 1333 if 800 is. */
static void nothing_is_drawn_larger_than_the_largest_size(void) {
    struct detection_recipe recipe = {
        .sizes = {DETECT_SIZE_D2, 800, 1333}, .pixels_max = 1, .seed = 5};
    const struct detect_size odd = {3, 62};
    const struct detect_size small =
        detect_resized(&(struct detect_sizes){DETECT_SIZE_D2, 640, 1333}, odd);
    CU_ASSERT(small.height == 65 && small.width == 1333);
    recipe.short_low = 640;
    recipe.short_step = 32;
    CU_ASSERT_EQUAL(detection_middle_side(&recipe), 704);
    for (uint64_t i = 0; i < 50; i++) {
        const struct detect_size drawn = detection_draw(&recipe, odd, 3, i).scaled;
        CU_ASSERT(drawn.height == 64 && drawn.width == 1333);
    }
    recipe.short_low = recipe.sizes.short_side;
    CU_ASSERT_EQUAL(detection_middle_side(&recipe), 800);
    recipe.short_step = 0;
    CU_ASSERT_EQUAL(detection_middle_side(&recipe), 800);
}

static void half_of_the_samples_are_mirrored(void) {
    const struct detection_recipe recipe = {
        .sizes = {DETECT_SIZE_TV, 60, 100}, .pixels_max = 1, .flip = true, .seed = 5};
    struct detection_recipe straight = recipe;
    int flips = 0;
    straight.flip = false;
    for (uint64_t i = 0; i < 2000; i++) {
        flips += detection_draw(&recipe, (struct detect_size){30, 40}, 3, i).flip;
        CU_ASSERT_FALSE(detection_draw(&straight, (struct detect_size){30, 40}, 3, i).flip);
    }
    CU_ASSERT(flips > 900 && flips < 1100);
}

static void scales_are_drawn_evenly(void) {
    const struct detection_recipe recipe = {.sizes = {DETECT_SIZE_D2, 800, 1333},
                                            .short_low = 640,
                                            .short_step = 32,
                                            .pixels_max = 1,
                                            .flip = true};
    int counts[6] = {0};
    CU_ASSERT_EQUAL(detection_recipe_check(&recipe, NULL), 0);
    for (uint64_t i = 0; i < 6000; i++) {
        int side = detection_draw(&recipe, (struct detect_size){480, 640}, 1, i).scaled.height;
        CU_ASSERT_FATAL(side >= 640 && side <= 800 && side % 32 == 0);
        counts[(side - 640) / 32]++;
    }
    for (int i = 0; i < 6; i++)
        CU_ASSERT(counts[i] > 850 && counts[i] < 1150);
}

/* A mask as the network reads it, mirrored and scaled, is the same whether the host or the network
 * scales. */
static void too_large_pictures_are_scaled_with_their_masks(void) {
    for (int flip = 0; flip < 2; flip++) {
        struct scene whole, small;
        scene_make(&whole, HEIGHT, WIDTH, OBJECTS);
        scene_make(&small, HEIGHT, WIDTH, OBJECTS);
        whole.recipe.sizes.short_side = small.recipe.sizes.short_side = 17;
        small.recipe.pixels_max = HEIGHT * WIDTH - 1;
        uint32_t epoch = epoch_with(&whole, flip == 1);
        CU_ASSERT_EQUAL_FATAL(scene_fill(&whole, epoch), 0);
        CU_ASSERT_EQUAL_FATAL(scene_fill(&small, epoch), 0);
        const int32_t size[IMAGE_SIZE_FIELDS] = {17, 22, 17, 22, flip, 1};
        CU_ASSERT_EQUAL(memcmp(&small.image_size[IMAGE_SIZE_FIELDS], size, sizeof(size)), 0);
        CU_ASSERT_EQUAL(small.fields.image_bytes, (17 * 22 * 3 + 63) / 64 * 64);
        CU_ASSERT_EQUAL(memcmp(whole.gt_box, small.gt_box, sizeof(small.gt_box)), 0);
        int wrong = 0, ones = 0;
        for (int object = 0; object < 2; object++)
            for (int y = 0; y < 17; y++)
                for (int x = 0; x < 22; x++) {
                    const int32_t *at = &small.gt_mask_at[(SLOTS + object) * MASK_FIELDS];
                    const int32_t *from = &whole.gt_mask_at[(SLOTS + object) * MASK_FIELDS];
                    int32_t row = bilinear_nearest(y, bilinear_scale(HEIGHT, 17), HEIGHT);
                    int32_t column = bilinear_nearest(x, bilinear_scale(WIDTH, 22), WIDTH);
                    int one = mask_bits_get(small.mask_bits, at, flip ? 21 - x : x, y);
                    wrong += one != mask_bits_get(whole.mask_bits, from,
                                                  flip ? WIDTH - 1 - column : column, row);
                    ones += one;
                }
        CU_ASSERT_EQUAL(wrong, 0);
        CU_ASSERT(ones > 30);
        scene_done(&whole);
        scene_done(&small);
    }
}

static void of_too_many_objects_the_largest_stay(void) {
    static char objects[1 << 18];
    struct scene s;
    size_t length = 0;
    for (int i = 0; i < 2000; i++) /* sides 1 .. 20 */
        length += (size_t)snprintf(objects + length, sizeof(objects) - length,
                                   "%s{\"id\":%d,\"image_id\":1,\"category_id\":3,\"bbox\":[1,1,"
                                   "%d,%d],\"area\":1,\"segmentation\":[[1,1,9,1,9,9]]}",
                                   i > 0 ? "," : "", i + 1, 1 + (i * 7 % 20), 1 + (i * 7 % 20));
    scene_make(&s, HEIGHT, WIDTH, objects);
    CU_ASSERT_EQUAL_FATAL(scene_fill(&s, epoch_with(&s, false)), 0);
    CU_ASSERT_EQUAL(s.gt_count[1], SLOTS);
    CU_ASSERT_EQUAL(s.bits[1].objects_dropped, 2000 - SLOTS);
    for (int i = 0; i < SLOTS; i++)
        CU_ASSERT_EQUAL(s.gt_box[(SLOTS + i) * 4 + 2], 2 * 21);
    scene_done(&s);
}

static void no_objects_are_no_fault(void) {
    struct scene s;
    scene_make(&s, HEIGHT, WIDTH, "");
    CU_ASSERT_EQUAL_FATAL(scene_fill(&s, 0), 0);
    CU_ASSERT_EQUAL(s.gt_count[1], 0);
    CU_ASSERT_EQUAL(s.image_size[IMAGE_SIZE_FIELDS + IMAGE_SIZE_VALID], 1);
    scene_done(&s);
}

static void check_refused(struct scene *s, const char *says, const char *where) {
    s->err = (struct error){0};
    CU_ASSERT_EQUAL(scene_fill(s, 0), -1);
    CU_ASSERT_EQUAL(s->err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(s->err.text, says);
    ASSERT_CONTAINS(s->err.text, where);
    CU_ASSERT_EQUAL(s->image_size[IMAGE_SIZE_FIELDS + IMAGE_SIZE_VALID], 0);
    CU_ASSERT_EQUAL(s->gt_count[1], 0);
    CU_ASSERT_EQUAL(s->bits[1].size, 0);
    scene_done(s);
}

/* Returns what the network reads at row and column 5 of the picture that the sample describes: the
 * operator resizes a source of another size than the target's, without antialiasing. */
static double input_of(const struct scene *s) {
    const int32_t *size = &s->image_size[IMAGE_SIZE_FIELDS]; /* source size, then target size */
    const uint8_t *pixels = s->image + s->fields.image_bytes;
    struct bilinear_tap row = bilinear_source(5, bilinear_scale(size[0], size[2]), size[0]);
    struct bilinear_tap column = bilinear_source(5, bilinear_scale(size[1], size[3]), size[1]);
    double value[2];
    for (int i = 0; i < 2; i++) {
        const uint8_t *line = pixels + (i == 0 ? row.low : row.high) * size[1] * 3;
        value[i] = (1 - (double)column.fraction) * line[column.low * 3] +
                   (double)column.fraction * line[column.high * 3];
    }
    return (1 - (double)row.fraction) * value[0] + (double)row.fraction * value[1];
}

/* Stripes of two columns. A plain resize to a quarter reads columns 21 and 22, which are white. The
 * host's filter weighs 16 half columns, half of which are white. */
static void a_picture_that_the_host_scales_is_another_input(void) {
    static const double wanted[] = {255, 127.5};
    for (int host = 0; host < 2; host++) {
        struct scene s;
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/one.png", unit_temp_dir());
        scene_make(&s, 120, 160,
                   "{\"id\":3,\"image_id\":1,\"category_id\":3,\"bbox\":[8,8,64,64],\"area\":1}");
        s.recipe.sizes = (struct detect_sizes){DETECT_SIZE_TV, 30, 100};
        s.recipe.flip = false;
        s.recipe.host_scale = host == 1;
        for (int i = 0; i < 120 * 160 * 3; i++)
            s.picture.pixels[i] = i / 3 % 4 == 1 || i / 3 % 4 == 2 ? 255 : 0;
        CU_ASSERT_EQUAL_FATAL(picture_write(&s.picture, true, path, &s.err), 0);
        CU_ASSERT_EQUAL_FATAL(scene_fill(&s, 0), 0);
        CU_ASSERT_DOUBLE_EQUAL(input_of(&s), wanted[host], 1);
        scene_done(&s);
    }
}

static void what_is_wrong_with_a_sample_is_named(void) {
    struct scene s;
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/one.png", unit_temp_dir());

    scene_make(&s, HEIGHT, WIDTH, OBJECTS);
    CU_ASSERT_EQUAL(image_resize(&s.picture, WIDTH - 1, HEIGHT, NULL), 0);
    CU_ASSERT_EQUAL(picture_write(&s.picture, true, path, NULL), 0);
    check_refused(&s, "one.png: 39 x 30 pixels, but 40 x 30 in", "set.json");

    scene_make(&s, HEIGHT, WIDTH, OBJECTS);
    CU_ASSERT_EQUAL(remove(path), 0);
    check_refused(&s, "one.png", "No such file");

    scene_make(&s, HEIGHT, WIDTH, OBJECTS);
    CU_ASSERT_EQUAL(file_publish(path, "no picture", 10, 0644, NULL), 0);
    check_refused(&s, "one.png", "JPEG");

    scene_make(&s, HEIGHT, WIDTH,
               "{\"id\":77,\"image_id\":1,\"category_id\":3,\"bbox\":[1,1,5,5],\"area\":1,"
               "\"segmentation\":{\"size\":[30,40],\"counts\":[605,9]}}");
    check_refused(&s, "annotation 77", "add up");

    scene_make(&s, HEIGHT, WIDTH,
               "{\"id\":78,\"image_id\":1,\"category_id\":3,\"bbox\":[1,1,5,5],\"area\":1,"
               "\"segmentation\":[[1,1,5e9,1,5,5]]}");
    check_refused(&s, "annotation 78", "set.json");
}

/* Coordinates that are infinite in f32, or far off, for bits and for outlines. */
static void outlines_far_off_are_named(void) {
    static const char *const far_off[] = {"5e9", "-1e300"};
    for (int outlines = 0; outlines < 2; outlines++)
        for (size_t i = 0; i < sizeof(far_off) / sizeof(far_off[0]); i++) {
            struct scene s;
            char object[256], says[64];
            int32_t parts[PLACES * SLOTS * 2], polygons[PLACES * 4 * 2];
            float points[PLACES * 8 * 2];
            const struct detection_draw draw = {.scaled = {60, 80}};
            snprintf(object, sizeof(object),
                     "{\"id\":80,\"image_id\":1,\"category_id\":3,\"bbox\":[1,1,5,5],\"area\":1,"
                     "\"segmentation\":[[1,1,%s,1,5,5]]}",
                     far_off[i]);
            snprintf(says, sizeof(says), "set.json: annotation 80: coordinate %g of a polygon",
                     strtod(far_off[i], NULL));
            scene_open(&s, HEIGHT, WIDTH, object);
            scene_fields(&s);
            if (outlines == 1) {
                s.fields.polygons = 4;
                s.fields.points = 8;
                s.fields.gt_parts = parts;
                s.fields.polygon = polygons;
                s.fields.point = points;
            }
            detection_sample_clear(&s.fields, 1, &s.bits[1]);
            CU_ASSERT_EQUAL(detection_objects_fill(&s.worker.objects, &s.set, 0, &draw, &s.fields,
                                                   1, &s.bits[1], &s.err),
                            -1);
            CU_ASSERT_EQUAL(s.err.code, EXIT_CODE_DATA);
            ASSERT_CONTAINS(s.err.text, says);
            scene_done(&s);
        }
}

/* A mask that covers a whole picture too large for any decoder, but possible in an annotation. */
static void a_mask_of_too_many_bytes_is_named(void) {
    enum { ROWS = 65533, COLUMNS = 32769 };
    for (int host_scaled = 0; host_scaled < 2; host_scaled++) {
        struct scene s;
        scene_open(&s, ROWS, COLUMNS,
                   "{\"id\":79,\"image_id\":1,\"category_id\":3,\"bbox\":[1,1,5,5],\"area\":1,"
                   "\"segmentation\":{\"size\":[65533,32769],\"counts\":[0,2147450877]}}");
        scene_fields(&s);
        const struct detection_draw draw = {.scaled = {120, 60}, .host_scaled = host_scaled == 1};
        CU_ASSERT_EQUAL(detection_objects_fill(&s.worker.objects, &s.set, 0, &draw, &s.fields, 1,
                                               &s.bits[1], &s.err),
                        -1);
        CU_ASSERT_EQUAL(s.err.code, EXIT_CODE_DATA);
        ASSERT_CONTAINS(s.err.text, "set.json: annotation 79: masks of more than");
        scene_done(&s);
    }
}

/* Crops of 102 x 122 and 66 x 52 bits, two pixels larger than the boxes on each axis, take 13 * 122
 * and 9 * 52 bytes, rounded up to multiples of 64. */
static void the_room_for_masks_is_that_of_the_largest_objects(void) {
    struct scene s;
    int64_t bytes = -1;
    scene_open(&s, 300, 400,
               "{\"id\":1,\"image_id\":1,\"category_id\":3,\"bbox\":[200,20,64,50],\"area\":1,"
               "\"segmentation\":[[200,20,264,20,264,70]]},"
               "{\"id\":2,\"image_id\":1,\"category_id\":3,\"bbox\":[10,10,100,120],\"area\":1,"
               "\"segmentation\":[[10,10,110,10,110,130]]}");
    CU_ASSERT_EQUAL(detection_mask_bytes(&s.set, &s.recipe, 4, false, &bytes, NULL), 0);
    CU_ASSERT_EQUAL(bytes, 33 * 64);
    CU_ASSERT_EQUAL(detection_mask_bytes(&s.set, &s.recipe, 1, false, &bytes, NULL), 0);
    CU_ASSERT_EQUAL(bytes, 25 * 64);
    /* Masks that are sent as outlines take one byte each. */
    CU_ASSERT_EQUAL(detection_mask_bytes(&s.set, &s.recipe, 4, true, &bytes, NULL), 0);
    CU_ASSERT_EQUAL(bytes, 64);
    scene_done(&s);
}

static void recipes_that_cannot_be_run_are_refused(void) {
    const struct detection_recipe right = {.sizes = {DETECT_SIZE_TV, 800, 1333},
                                           .pixels_max = DETECTION_PIXELS_DEFAULT};
    struct detection_recipe wrong[6] = {right, right, right, right, right, right};
    CU_ASSERT_EQUAL(detection_recipe_check(&right, NULL), 0);
    wrong[0].sizes.short_side = 0;
    wrong[1].short_step = -1;
    wrong[2].short_step = 32, wrong[2].short_low = 0;
    wrong[3].short_step = 32, wrong[3].short_low = 641;
    wrong[4].short_step = 32, wrong[4].short_low = 832;
    wrong[5].pixels_max = 0;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(detection_recipe_check(&wrong[i], &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    }
}

UNIT_SUITE("detect.detection_sample", UNIT(a_place_has_picture_boxes_labels_and_masks),
           UNIT(an_empty_place_has_one_pixel_and_nothing_in_it),
           UNIT(boxes_are_torchvisions_to_the_bit), UNIT(half_of_the_samples_are_mirrored),
           UNIT(nothing_is_drawn_larger_than_the_largest_size), UNIT(scales_are_drawn_evenly),
           UNIT(too_large_pictures_are_scaled_with_their_masks),
           UNIT(of_too_many_objects_the_largest_stay), UNIT(no_objects_are_no_fault),
           UNIT(a_picture_that_the_host_scales_is_another_input),
           UNIT(what_is_wrong_with_a_sample_is_named), UNIT(outlines_far_off_are_named),
           UNIT(a_mask_of_too_many_bytes_is_named),
           UNIT(the_room_for_masks_is_that_of_the_largest_objects),
           UNIT(recipes_that_cannot_be_run_are_refused))
