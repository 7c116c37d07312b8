/* The sample set from its writing to its inspection. */
#include "trainer/data/coco/coco_load.h"
#include "trainer/data/shapes/coco_shapes.h"

#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/data/coco/coco_check.h"
#include "trainer/data/coco/coco_folder.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static void write_set(const char *name, uint64_t seed, char path[PATH_MAX]) {
    struct prepare_options o;
    struct error err = {0};
    coco_shapes_defaults(&o);
    snprintf(path, PATH_MAX, "%s/%s", unit_temp_dir(), name);
    o.folder = path;
    o.train = 120;
    o.validation = 10;
    o.seed = seed;
    CU_ASSERT_EQUAL_FATAL(coco_shapes_write(&o, &err), 0);
}

static void the_set_has_what_real_ones_have(void) {
    char path[PATH_MAX];
    struct error err = {0};
    write_set("set", 1, path);
    cleanup_coco_folder struct coco_folder folder = {0};
    CU_ASSERT_EQUAL_FATAL(coco_folder_open(&folder, path, &err), 0);
    CU_ASSERT_EQUAL_FATAL(folder.count, 2);
    CU_ASSERT_STRING_EQUAL(folder.sets[0].name, "train");
    cleanup_coco_index struct coco_index index = {0};
    cleanup_coco_check struct coco_check check = {0};
    CU_ASSERT_EQUAL_FATAL(coco_load(&index, folder.sets[0].json, NULL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(coco_check_make(&check, &index, folder.sets[0].pictures, &err), 0);
    CU_ASSERT_EQUAL(index.image_count, 120);
    CU_ASSERT_EQUAL(coco_index_category(&index, 90), 2);
    CU_ASSERT(check.crowds > 0 && check.runs > check.crowds && check.polygons > 10 * check.crowds);
    CU_ASSERT(check.most <= 5);
    /* Few of a hundred pictures are empty, as told; any other has an object at least. */
    CU_ASSERT(check.empty_images > 0 && check.empty_images < 12);
    for (int i = 0; i < COCO_FINDINGS; i++)
        CU_ASSERT_EQUAL(check.findings[i].count, i == COCO_AREA_MISMATCH ? 2 : 0);
    CU_ASSERT_EQUAL(check.findings[COCO_AREA_MISMATCH].examples[1], 2);
}

/* Little circles apart from each other: a box that one of them would fill by pi / 4. */
static void a_crowd_is_more_than_one_object(void) {
    char path[PATH_MAX], json[PATH_MAX + 64];
    struct error err = {0};
    int crowds = 0;
    write_set("crowds", 2, path);
    snprintf(json, sizeof(json), "%s/annotations/instances_train.json", path);
    cleanup_coco_index struct coco_index index = {0};
    CU_ASSERT_EQUAL_FATAL(coco_load(&index, json, NULL, &err), 0);
    for (size_t i = 0; i < index.annotation_count; i++) {
        const struct coco_annotation *a = &index.annotations[i];
        if ((a->flags & COCO_ANNOTATION_CROWD) == 0)
            continue;
        CU_ASSERT(a->area > 0 && a->area < 0.6 * a->box[2] * a->box[3]);
        crowds++;
    }
    CU_ASSERT(crowds > 0);
}

static void pictures_may_lie_and_stand(void) {
    char path[PATH_MAX], json[PATH_MAX + 64];
    struct prepare_options o;
    struct error err = {0};
    double right = 0, low = 0;
    coco_shapes_defaults(&o);
    snprintf(path, sizeof(path), "%s/turns", unit_temp_dir());
    o.folder = path;
    o.train = 60;
    o.validation = 3;
    o.side = 96;
    o.long_side = 95;
    CU_ASSERT_EQUAL(coco_shapes_write(&o, &err), -1);
    o.long_side = 160;
    CU_ASSERT_EQUAL_FATAL(coco_shapes_write(&o, &err), 0);
    snprintf(json, sizeof(json), "%s/annotations/instances_train.json", path);
    cleanup_coco_index struct coco_index index = {0};
    cleanup_coco_check struct coco_check check = {0};
    CU_ASSERT_EQUAL_FATAL(coco_load(&index, json, NULL, &err), 0);
    for (size_t i = 0; i < index.image_count; i++) {
        bool lies = index.images[i].width == 160 && index.images[i].height == 96;
        bool stands = index.images[i].width == 96 && index.images[i].height == 160;
        CU_ASSERT(i % 2 == 0 ? lies : stands);
        for (uint32_t k = 0; k < index.images[i].count; k++) {
            const double *box = index.annotations[index.images[i].first + k].box;
            right = lies && box[0] + box[2] > right ? box[0] + box[2] : right;
            low = stands && box[1] + box[3] > low ? box[1] + box[3] : low;
            CU_ASSERT(box[0] + box[2] <= index.images[i].width);
            CU_ASSERT(box[1] + box[3] <= index.images[i].height);
        }
    }
    CU_ASSERT(right > 120 && low > 120); /* all of a picture is drawn on */
    snprintf(json, sizeof(json), "%s/train", path);
    CU_ASSERT_EQUAL_FATAL(coco_check_make(&check, &index, json, &err), 0);
    CU_ASSERT(check.runs > 0);
    for (int i = 0; i < COCO_FINDINGS; i++)
        CU_ASSERT_EQUAL(check.findings[i].count, i == COCO_AREA_MISMATCH ? 2 : 0);
}

static void read_file(const char *folder, const char *name, struct buf *out) {
    char path[PATH_MAX];
    struct error err = {0};
    buf_init(out, 1 << 24);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    CU_ASSERT_EQUAL_FATAL(file_read(path, out, &err), 0);
}

static void a_seed_gives_the_same_bytes(void) {
    static const char *const FILES[] = {"annotations/instances_train.json", "train/0000007.jpg",
                                        "val/0000003.jpg"};
    char first[PATH_MAX], again[PATH_MAX], other[PATH_MAX];
    write_set("first", 5, first);
    write_set("again", 5, again);
    write_set("other", 6, other);
    for (int i = 0; i < 3; i++) {
        cleanup_buf struct buf a = {0}, b = {0}, c = {0};
        read_file(first, FILES[i], &a);
        read_file(again, FILES[i], &b);
        read_file(other, FILES[i], &c);
        CU_ASSERT(a.size == b.size && memcmp(a.data, b.data, a.size) == 0);
        CU_ASSERT(a.size != c.size || memcmp(a.data, c.data, a.size) != 0);
    }
}

/* Pictures are numbered through: where training is longer, it has what validation began with. */
static void validation_goes_on_where_training_ends(void) {
    char paths[2][PATH_MAX];
    for (int i = 0; i < 2; i++) {
        struct prepare_options o;
        struct error err = {0};
        coco_shapes_defaults(&o);
        snprintf(paths[i], PATH_MAX, "%s/through%d", unit_temp_dir(), i);
        o.folder = paths[i];
        o.train = i == 0 ? 5 : 8;
        o.validation = 3;
        o.side = 64;
        CU_ASSERT_EQUAL_FATAL(coco_shapes_write(&o, &err), 0);
    }
    for (int i = 0; i < 3; i++) {
        char name[64];
        cleanup_buf struct buf validated = {0}, trained = {0};
        snprintf(name, sizeof(name), "val/%07d.jpg", i);
        read_file(paths[0], name, &validated);
        snprintf(name, sizeof(name), "train/%07d.jpg", 5 + i);
        read_file(paths[1], name, &trained);
        CU_ASSERT(validated.size == trained.size &&
                  memcmp(validated.data, trained.data, trained.size) == 0);
    }
}

static void a_folder_with_a_set_is_left_alone(void) {
    char path[PATH_MAX];
    struct prepare_options o;
    struct error err = {0};
    write_set("kept", 1, path);
    coco_shapes_defaults(&o);
    o.folder = path;
    CU_ASSERT_EQUAL(coco_shapes_write(&o, &err), -1);
    ASSERT_CONTAINS(err.text, "exists already");
    o.side = 3;
    CU_ASSERT_EQUAL(coco_shapes_write(&o, &err), -1);
}

UNIT_SUITE("data.coco_shapes", UNIT(the_set_has_what_real_ones_have),
           UNIT(a_crowd_is_more_than_one_object), UNIT(pictures_may_lie_and_stand),
           UNIT(a_seed_gives_the_same_bytes), UNIT(validation_goes_on_where_training_ends),
           UNIT(a_folder_with_a_set_is_left_alone))
