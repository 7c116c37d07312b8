#include "data/coco_index.h"

#include "common/file.h"
#include "unit/data/coco_files.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char SET[] =
    "{\"info\":{},\"annotations\":["
    "{\"id\":5,\"image_id\":9,\"category_id\":3,\"bbox\":[1,2,3,4],\"area\":7,\"iscrowd\":0,"
    "\"segmentation\":[[2,2,7,2,7,7,2,7]]},"
    "{\"id\":6,\"image_id\":77,\"category_id\":3},"
    "{\"id\":7,\"image_id\":4,\"category_id\":8},"
    "{\"id\":8,\"image_id\":9,\"category_id\":90,\"iscrowd\":1,"
    "\"segmentation\":{\"counts\":[0,200],\"size\":[10,20]}}]," TWO_IMAGES "," TWO_CATEGORIES "}";

static void images_categories_and_annotations_are_numbered_by_id(void) {
    cleanup_coco_index struct coco_index index = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(coco_index_load(&index, write_text("set.json", SET), NULL, &err), 0);
    CU_ASSERT_EQUAL_FATAL(index.image_count, 2);
    CU_ASSERT_EQUAL(index.images[0].id, 4);
    CU_ASSERT_EQUAL(index.images[1].width, 20);
    CU_ASSERT_STRING_EQUAL(coco_index_name(&index, index.images[0].name), "four.jpg");
    CU_ASSERT_EQUAL_FATAL(index.category_count, 2);
    CU_ASSERT_STRING_EQUAL(coco_index_name(&index, index.categories[0].name), "cat");
    CU_ASSERT_EQUAL(coco_index_image(&index, 9), 1);
    CU_ASSERT_EQUAL(coco_index_image(&index, 5), COCO_NUMBER_NONE);
    CU_ASSERT_EQUAL(coco_index_category(&index, 90), 1);
    CU_ASSERT_EQUAL(coco_index_category(&index, 8), COCO_NUMBER_NONE);

    CU_ASSERT_EQUAL_FATAL(index.annotation_count, 4);
    CU_ASSERT_EQUAL(index.placed_count, 3);
    CU_ASSERT(index.images[0].first == 0 && index.images[0].count == 1);
    CU_ASSERT(index.images[1].first == 1 && index.images[1].count == 2);
    CU_ASSERT_EQUAL(index.annotations[0].id, 7);
    CU_ASSERT_EQUAL(index.annotations[0].category, COCO_NUMBER_NONE);
    CU_ASSERT_EQUAL(index.annotations[1].id, 5);
    CU_ASSERT_EQUAL(index.annotations[1].flags, COCO_ANNOTATION_BOX | COCO_ANNOTATION_AREA);
    CU_ASSERT_EQUAL(index.annotations[2].id, 8);
    CU_ASSERT_EQUAL(index.annotations[2].flags, COCO_ANNOTATION_CROWD);
    CU_ASSERT_EQUAL(index.annotations[3].id, 6);
    CU_ASSERT_EQUAL(index.annotations[3].image, COCO_NUMBER_NONE);
}

static void masks_come_from_polygons_and_runs(void) {
    cleanup_coco_index struct coco_index index = {0};
    cleanup_coco_outline struct coco_outline room = {0};
    cleanup_rle_brush struct rle_brush brush = {0};
    cleanup_rle struct rle mask = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(coco_index_load(&index, write_text("set.json", SET), NULL, &err), 0);
    CU_ASSERT_EQUAL(coco_index_mask(&index, &index.annotations[1], &room, &brush, &mask, &err), 0);
    CU_ASSERT_EQUAL(rle_area(&mask), 25);
    CU_ASSERT_EQUAL(mask.width, 20);
    CU_ASSERT_EQUAL(coco_index_mask(&index, &index.annotations[2], &room, &brush, &mask, &err), 0);
    CU_ASSERT_EQUAL(rle_area(&mask), 200);
    CU_ASSERT_EQUAL(coco_index_mask(&index, &index.annotations[0], &room, &brush, &mask, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "annotation 7: no mask");
}

static void of_repeated_ids_the_last_image_counts(void) {
    cleanup_coco_index struct coco_index index = {0};
    struct error err = {0};
    const char *path = write_text(
        "twice.json", "{\"images\":[{\"id\":1,\"width\":5},{\"id\":0},{\"id\":1,\"width\":6}]}");
    CU_ASSERT_EQUAL_FATAL(coco_index_load(&index, path, NULL, &err), 0);
    CU_ASSERT_EQUAL(index.image_count, 2);
    CU_ASSERT_EQUAL(index.images[1].width, 6);
    CU_ASSERT_EQUAL(index.repeated_images, 1);
    CU_ASSERT_EQUAL(index.category_count, 0);
}

static void a_cache_is_used_until_the_json_changes(void) {
    struct error err = {0};
    char cache[PATH_MAX];
    struct stat first, second;
    snprintf(cache, sizeof(cache), "%s/set.index", unit_temp_dir());
    const char *json = write_text("set.json", SET);
    for (int i = 0; i < 2; i++) {
        cleanup_coco_index struct coco_index index = {0};
        CU_ASSERT_EQUAL_FATAL(coco_index_load(&index, json, cache, &err), 0);
        CU_ASSERT_EQUAL(index.image_count, 2);
        CU_ASSERT_EQUAL(stat(cache, i == 0 ? &first : &second), 0);
    }
    CU_ASSERT_EQUAL(first.st_ino, second.st_ino);
    json = write_text("set.json", "{\"images\":[]}");
    cleanup_coco_index struct coco_index index = {0};
    CU_ASSERT_EQUAL_FATAL(coco_index_load(&index, json, cache, &err), 0);
    CU_ASSERT_EQUAL(index.image_count, 0);
}

static void a_damaged_index_is_refused(void) {
    struct error err = {0};
    char cache[PATH_MAX];
    snprintf(cache, sizeof(cache), "%s/damaged.index", unit_temp_dir());
    cleanup_coco_index struct coco_index whole = {0};
    CU_ASSERT_EQUAL_FATAL(coco_index_load(&whole, write_text("set.json", SET), cache, &err), 0);
    struct stat st;
    CU_ASSERT_EQUAL(stat(cache, &st), 0);
    cleanup_buf struct buf bytes = {.max = 1 << 20};
    CU_ASSERT_EQUAL_FATAL(file_read(cache, &bytes, &err), 0);
    for (int damage = 0; damage < 3; damage++) {
        cleanup_buf struct buf copy = {.max = 1 << 20};
        CU_ASSERT_EQUAL_FATAL(buf_add(&copy, bytes.data, bytes.size, &err), 0);
        if (damage == 0)
            copy.size -= 8;
        else
            copy.data[damage == 1 ? 0 : 40] ^= 1;
        CU_ASSERT_EQUAL_FATAL(file_publish(cache, copy.data, copy.size, 0644, &err), 0);
        cleanup_coco_index struct coco_index index = {0};
        CU_ASSERT_EQUAL(coco_index_open(&index, cache, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        ASSERT_CONTAINS(err.text, cache);
    }
    cleanup_coco_index struct coco_index index = {0};
    CU_ASSERT_EQUAL(coco_index_open(&index, "/nowhere/at/all", &err), -1);
}

UNIT_MAIN("data.coco_index", UNIT(images_categories_and_annotations_are_numbered_by_id),
          UNIT(masks_come_from_polygons_and_runs), UNIT(of_repeated_ids_the_last_image_counts),
          UNIT(a_cache_is_used_until_the_json_changes), UNIT(a_damaged_index_is_refused))
