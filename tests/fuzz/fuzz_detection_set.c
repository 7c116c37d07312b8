/* Annotation files as a detector's training set: the first three bytes choose what is picked, how
 * many slots there are, and how pictures are scaled and masks told; the rest is the JSON. What was
 * made keeps its promises, and the inputs of every sample stay within their bounds. */
#include "tests/fuzz/check.h"
#include "trainer/data/coco/coco_load.h"
#include "trainer/data/detect/detection_groups.h"
#include "trainer/data/detect/detection_sample.h"
#include "trainer/math/mask_bits.h"
#include "trainer/math/mask_target.h"
#include "trainer/math/sample_key.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    SLOTS = 6,
    HEAD = 3,
    SAMPLES = 8,
    PIXELS = 1 << 20,
    POOL = 4096,
    POLYGONS = 4,
    POINTS = 24,
};

static const struct detect_sizes SIZES = {DETECT_SIZE_TV, 100, 200};

static void check_set(const struct detection_set *set, enum detection_pick pick) {
    size_t objects = 0;
    CHECK(set->count > 0 && set->count + set->left_out.pictures == set->index->image_count);
    CHECK(pick != DETECTION_PICK_ALL || set->left_out.pictures == 0);
    for (size_t i = 0; i < set->count; i++) {
        const struct detection_picture *picture = &set->pictures[i];
        CHECK(picture->first == objects && picture->count <= set->most);
        CHECK(picture->height > 0 && picture->width > 0);
        objects += picture->count;
        for (uint32_t k = 0; k < picture->count; k++) {
            const struct detection_object *object = &set->objects[picture->first + k];
            CHECK(object->box[0] >= 0 && object->box[2] > object->box[0]);
            CHECK(object->box[1] >= 0 && object->box[3] > object->box[1]);
            CHECK(object->box[2] <= picture->width && object->box[3] <= picture->height);
            CHECK(object->label >= 1 && object->label <= set->labels);
            CHECK(detection_set_category(set, object->label) != COCO_NUMBER_NONE);
        }
    }
    CHECK(objects == set->object_count);
}

static void check_groups(const struct detection_set *set) {
    cleanup_detection_groups struct detection_groups groups = {0};
    struct bucket_plan plan = {0};
    struct error err = {0};
    size_t sum = 0;
    CHECK(detection_set_plan(set, NULL, &SIZES, 3, &plan, &err) == 0);
    CHECK(detection_groups_make(&groups, set, &SIZES, &plan, &err) == 0);
    for (int i = 0; i < groups.count; i++) {
        CHECK(groups.sizes[i] == plan.pictures[i]);
        sum += groups.sizes[i];
    }
    CHECK(sum == set->count);
}

/* The inputs of one sample, with room for nothing more. */
struct place {
    float gt_box[SLOTS * 4];
    int32_t gt_label[SLOTS], gt_count, gt_mask_at[SLOTS * MASK_FIELDS];
    int32_t image_size[6], key[SAMPLE_KEY_WORDS];
    uint8_t image[1], bits[POOL];
    int32_t gt_parts[SLOTS * MASK_PART_FIELDS], polygon[POLYGONS * MASK_PART_FIELDS];
    float point[POINTS * 2];
};

/* Outlines stay within their room, one after the other. */
static void check_outlines(const struct place *place) {
    int polygon = 0, point = 0;
    for (int i = 0; i < SLOTS; i++) {
        const int32_t *parts = &place->gt_parts[(size_t)i * MASK_PART_FIELDS];
        CHECK(parts[MASK_PART_COUNT] == 0 || parts[MASK_PART_FIRST] == polygon);
        CHECK(parts[MASK_PART_COUNT] == 0 ||
              mask_bits_given(&place->gt_mask_at[(size_t)i * MASK_FIELDS]));
        for (int k = 0; k < parts[MASK_PART_COUNT]; k++, polygon++) {
            CHECK(polygon < POLYGONS);
            const int32_t *range = &place->polygon[(size_t)polygon * MASK_PART_FIELDS];
            CHECK(range[MASK_PART_FIRST] == point && range[MASK_PART_COUNT] >= 3);
            point += range[MASK_PART_COUNT];
            CHECK(point <= POINTS);
        }
    }
    for (int i = 0; i < 2 * point; i++)
        CHECK(isfinite(place->point[i]));
}

static void check_place(const struct place *place, const struct detection_picture *picture,
                        int slots) {
    CHECK(place->gt_count >= 0 && place->gt_count <= slots);
    CHECK((uint32_t)place->gt_count == picture->count || place->gt_count == slots);
    for (int i = 0; i < SLOTS; i++) {
        const int32_t *at = &place->gt_mask_at[i * MASK_FIELDS];
        const float *box = &place->gt_box[(size_t)i * 4];
        CHECK((place->gt_label[i] > 0) == (i < place->gt_count));
        CHECK(i >= place->gt_count || (box[2] >= box[0] && box[3] >= box[1]));
        if (!mask_bits_given(at))
            continue;
        CHECK(i < place->gt_count && at[MASK_OFFSET] >= 0);
        CHECK(at[MASK_OFFSET] + mask_bits_bytes(at[MASK_WIDTH], at[MASK_HEIGHT]) <= POOL);
        CHECK(at[MASK_X] >= 0 && at[MASK_Y] >= 0);
    }
}

/* How a sample is filled. */
struct way {
    int slots;
    bool host, flip, outlines;
    enum detect_size_rule rule;
};

static struct way way_of(uint8_t slots, uint8_t bits) {
    return (struct way){.slots = 1 + slots % SLOTS,
                        .host = bits % 2 == 1,
                        .flip = bits % 4 >= 2,
                        .outlines = bits % 8 >= 4,
                        .rule = bits / 8 % 3};
}

static void fill(const struct detection_set *set, size_t sample, const struct way *way) {
    static struct detection_objects_scratch room;
    static struct detection_bits bits;
    struct place place;
    struct error err = {0};
    const struct detection_picture *picture = &set->pictures[sample];
    const struct detect_size size = detection_picture_size(picture);
    int64_t dropped = 0;
    if ((int64_t)size.height * size.width > PIXELS)
        return; /* a mask may take the memory that its picture asks for */
    const struct detection_draw draw = {detect_resized(&SIZES, size), way->flip, way->host,
                                        way->rule};
    const struct detection_fields fields = {.slots = way->slots,
                                            .image_bytes = 1,
                                            .pool_bytes = POOL,
                                            .image = place.image,
                                            .image_size = place.image_size,
                                            .gt_box = place.gt_box,
                                            .gt_label = place.gt_label,
                                            .gt_count = &place.gt_count,
                                            .gt_mask_at = place.gt_mask_at,
                                            .mask_bits = place.bits,
                                            .key = place.key,
                                            .polygons = way->outlines ? POLYGONS : 0,
                                            .points = way->outlines ? POINTS : 0,
                                            .gt_parts = place.gt_parts,
                                            .polygon = place.polygon,
                                            .point = place.point};
    memset(&place, 0, sizeof(place));
    detection_sample_clear(&fields, 0, &bits);
    if (detection_objects_fill(&room, set, sample, &draw, &fields, 0, &bits, &err) != 0) {
        CHECK(err.code == EXIT_CODE_DATA && strstr(err.text, "annotation ") != NULL);
        return;
    }
    CHECK(detection_bits_gather(&fields, &bits, 1, &dropped, &err) == 0);
    CHECK(dropped >= 0 && dropped <= way->slots);
    check_place(&place, picture, way->slots);
    check_outlines(&place);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cleanup_coco_index struct coco_index index = {0};
    cleanup_detection_set struct detection_set set = {0};
    struct error err = {0};
    char path[64];
    if (size < HEAD)
        return 0;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    CHECK(fd >= 0 && write(fd, data + HEAD, size - HEAD) == (ssize_t)(size - HEAD));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    const struct detection_options options = {
        .pick = data[0] % 3, .id_labels = data[0] % 2 == 1, .last_pixel = data[0] % 8 >= 4};
    const struct way way = way_of(data[1], data[2]);
    if (coco_load(&index, path, NULL, &err) == 0) {
        if (detection_set_make(&set, &index, "/nowhere", &options, &err) == 0) {
            check_set(&set, options.pick);
            check_groups(&set);
            for (size_t i = 0; i < set.count && i < SAMPLES; i++)
                fill(&set, i, &way);
        } else {
            CHECK(err.code == EXIT_CODE_DATA && strstr(err.text, path) != NULL);
        }
    }
    close(fd);
    return 0;
}
