#include "trainer/data/detect/picture_index.h"

#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/data/coco/coco_load.h"
#include "trainer/data/codec/picture.h"
#include "trainer/data/detect/detection_set.h"

#include <stdio.h>
#include <string.h>

enum { FILES = 3, PATH_SIZE = 600 };

static char *const NAMES[] = {(char[]){"K\xc3\xa4se"}, (char[]){"two"}};
static const int64_t IDS[] = {3, 17};
static const struct picture_categories CATEGORIES = {NAMES, IDS, 2};

/* Pictures of WIDTH + i x 20 pixels in a folder of their own. */
static void make_files(const char *folder, const char *const names[FILES],
                       char paths[FILES][PATH_SIZE], char *list[FILES]) {
    cleanup_image struct image image = {0};
    char path[PATH_SIZE];
    snprintf(path, sizeof(path), "%.400s/%.50s", unit_temp_dir(), folder);
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, NULL), 0);
    for (int i = 0; i < FILES; i++) {
        CU_ASSERT_EQUAL_FATAL(image_resize(&image, 30 + i, 20, NULL), 0);
        memset(image.pixels, 90, (size_t)(30 + i) * 20 * 3);
        snprintf(paths[i], PATH_SIZE, "%.460s/%.50s", path, names[i]);
        bool png = strstr(names[i], "png") != NULL;
        CU_ASSERT_EQUAL_FATAL(picture_write(&image, png, paths[i], NULL), 0);
        list[i] = paths[i];
    }
}

static void numbers_that_files_are_called_by_are_their_ids(void) {
    static const char *const names[] = {"000000000139.jpg", "7.png", "000000000025.jpg"};
    char paths[FILES][PATH_SIZE], *list[FILES];
    cleanup_picture_index struct picture_index p = {0};
    make_files("numbers", names, paths, list);
    CU_ASSERT_EQUAL_FATAL(picture_index_make(&p, list, FILES, &CATEGORIES, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(p.index.image_count, 3);
    const struct coco_image *images = p.index.images;
    CU_ASSERT(images[0].id == 7 && images[1].id == 25 && images[2].id == 139);
    CU_ASSERT(images[0].width == 31 && images[1].width == 32 && images[2].width == 30);
    CU_ASSERT_STRING_EQUAL(coco_index_name(&p.index, images[2].name), paths[0]);
    CU_ASSERT_EQUAL(coco_index_image(&p.index, 25), 1);
    CU_ASSERT_EQUAL(coco_index_category(&p.index, 17), 1);
}

static void else_ids_are_places(void) {
    static const char *const named[] = {"12.jpg", "b.jpg", "3.png"};
    static const char *const twice[] = {"1.jpg", "01.jpg", "1.png"};
    const char *const *const all[] = {named, twice};
    for (int k = 0; k < 2; k++) {
        char paths[FILES][PATH_SIZE], *list[FILES];
        cleanup_picture_index struct picture_index p = {0};
        make_files(k == 0 ? "named" : "twice", all[k], paths, list);
        CU_ASSERT_EQUAL_FATAL(picture_index_make(&p, list, FILES, &CATEGORIES, NULL), 0);
        for (int i = 0; i < FILES; i++) {
            CU_ASSERT_EQUAL(p.index.images[i].id, i + 1);
            CU_ASSERT_STRING_EQUAL(coco_index_name(&p.index, p.index.images[i].name), paths[i]);
        }
    }
}

static void a_set_is_made_of_it_and_a_file_that_is_read_again(void) {
    static const char *const names[] = {"x.jpg", "y.png", "z.jpg"};
    char paths[FILES][PATH_SIZE], *list[FILES], json[PATH_SIZE], back[PATH_SIZE];
    const struct detection_options how = {.pick = DETECTION_PICK_ALL, .paths = true};
    cleanup_picture_index struct picture_index p = {0};
    cleanup_detection_set struct detection_set set = {0};
    cleanup_coco_index struct coco_index index = {0};
    struct error err = {0};
    make_files("set", names, paths, list);
    CU_ASSERT_EQUAL_FATAL(picture_index_make(&p, list, FILES, &CATEGORIES, &err), 0);
    CU_ASSERT_EQUAL_FATAL(detection_set_make(&set, &p.index, "them", &how, &err), 0);
    CU_ASSERT(set.count == 3 && set.labels == 2);
    CU_ASSERT_EQUAL(detection_set_path(&set, 1, back, sizeof(back), &err), 0);
    CU_ASSERT_STRING_EQUAL(back, paths[1]);

    snprintf(json, sizeof(json), "%.400s/pictures.json", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(picture_index_write(&p, json, &err), 0);
    CU_ASSERT_EQUAL_FATAL(coco_load(&index, json, NULL, &err), 0);
    CU_ASSERT_PTR_NULL(coco_index_missing(&index));
    CU_ASSERT(index.image_count == 3 && index.category_count == 2 && index.annotation_count == 0);
    CU_ASSERT_STRING_EQUAL(coco_index_name(&index, index.categories[0].name), NAMES[0]);
    CU_ASSERT_STRING_EQUAL(coco_index_name(&index, index.images[2].name), paths[2]);
    CU_ASSERT(index.images[2].width == 32 && index.images[2].height == 20);
}

static void what_is_no_picture_is_left_out_by_name(void) {
    static const char *const names[] = {"x.jpg", "y.png", "z.jpg"};
    char paths[FILES][PATH_SIZE], *list[FILES];
    struct error err = {0};
    cleanup_picture_index struct picture_index p = {0};
    make_files("bad", names, paths, list);
    CU_ASSERT_EQUAL_FATAL(file_publish(paths[0], "no", 2, 0644, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(file_publish(paths[1], "\x89PNG\r\n\x1a\n....IHDR\0\0", 18, 0644, NULL),
                          0);
    CU_ASSERT_EQUAL_FATAL(picture_index_make(&p, list, FILES, &CATEGORIES, &err), 0);
    CU_ASSERT(p.index.image_count == 1 && p.bad_count == 2);
    CU_ASSERT_EQUAL(p.index.images[0].id, 3); /* its place in the list */
    ASSERT_CONTAINS(buf_text(&p.bad), "x.jpg: not a JPEG or PNG\n");
    ASSERT_CONTAINS(buf_text(&p.bad), "y.png: PNG: truncated\n");
    picture_index_done(&p);
    CU_ASSERT_EQUAL(picture_index_make(&p, list, 2, &CATEGORIES, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "none of the 2 files is a picture");
    static const int64_t falling[] = {17, 3};
    const struct picture_categories wrong = {NAMES, falling, 2};
    CU_ASSERT_EQUAL(picture_index_make(&p, list, FILES, &wrong, &err), -1);
    ASSERT_CONTAINS(err.text, "category_ids");
}

UNIT_SUITE("detect.picture_index", UNIT(numbers_that_files_are_called_by_are_their_ids),
           UNIT(else_ids_are_places), UNIT(a_set_is_made_of_it_and_a_file_that_is_read_again),
           UNIT(what_is_no_picture_is_left_out_by_name))
