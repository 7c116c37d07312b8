#include "coco/coco_index.h"

#include "common/file.h"
#include "unit/data/coco/coco_files.h"

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

/* Another content of the same length and with the same times is another file. */
static void a_cache_is_of_a_content_not_of_a_date(void) {
    struct error err = {0};
    char cache[PATH_MAX];
    const struct timespec times[2] = {{1000, 5}, {1000, 5}};
    snprintf(cache, sizeof(cache), "%s/dated.index", unit_temp_dir());
    for (int id = 1; id <= 2; id++) {
        char text[64];
        snprintf(text, sizeof(text), "{\"images\":[{\"id\":%d}]}", id);
        const char *json = write_text(id == 1 ? "one.json" : "two.json", text);
        CU_ASSERT_EQUAL_FATAL(utimensat(AT_FDCWD, json, times, 0), 0);
        cleanup_coco_index struct coco_index index = {0};
        CU_ASSERT_EQUAL_FATAL(coco_index_load(&index, json, cache, &err), 0);
        CU_ASSERT_EQUAL(index.images[0].id, id);
        CU_ASSERT_STRING_EQUAL(index.path, json);
    }
}

static void somebody_elses_file_is_no_place_for_an_index(void) {
    struct error err = {0};
    cleanup_coco_index struct coco_index index = {0};
    const char *json = write_text("set.json", SET);
    CU_ASSERT_EQUAL(coco_index_load(&index, json, json, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, json);
    cleanup_buf struct buf bytes = {.max = 1 << 20};
    CU_ASSERT_EQUAL(file_read(json, &bytes, &err), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&bytes), SET);
}

static void make_cache(char cache[PATH_MAX], const char *name, struct buf *bytes) {
    struct error err = {0};
    cleanup_coco_index struct coco_index whole = {0};
    snprintf(cache, PATH_MAX, "%s/%s", unit_temp_dir(), name);
    CU_ASSERT_EQUAL_FATAL(coco_index_load(&whole, write_text("set.json", SET), cache, &err), 0);
    CU_ASSERT_EQUAL_FATAL(file_read(cache, bytes, &err), 0);
}

static void put(const char *path, const void *bytes, size_t size) {
    FILE *out = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, size, out), size);
    CU_ASSERT_EQUAL(fclose(out), 0);
}

static void every_changed_bit_is_found(void) {
    cleanup_buf struct buf bytes = {.max = 1 << 20};
    char cache[PATH_MAX];
    size_t believed = 0;
    make_cache(cache, "bits.index", &bytes);
    for (size_t bit = 0; bit < 8 * bytes.size; bit++) {
        struct error err = {0};
        cleanup_coco_index struct coco_index index = {0};
        bytes.data[bit / 8] ^= (char)(1 << bit % 8);
        put(cache, bytes.data, bytes.size);
        bytes.data[bit / 8] ^= (char)(1 << bit % 8);
        believed += coco_index_open(&index, cache, &err) == 0;
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        if (strstr(err.text, cache) == NULL)
            CU_FAIL_FATAL("an error without the file");
    }
    CU_ASSERT_EQUAL(believed, 0);
}

static void an_index_cut_short_is_found_at_every_length(void) {
    cleanup_buf struct buf bytes = {.max = 1 << 20};
    char cache[PATH_MAX];
    size_t believed = 0;
    make_cache(cache, "short.index", &bytes);
    for (size_t size = 0; size < bytes.size; size++) {
        cleanup_coco_index struct coco_index index = {0};
        put(cache, bytes.data, size);
        believed += coco_index_open(&index, cache, NULL) == 0;
    }
    CU_ASSERT_EQUAL(believed, 0);
    CU_ASSERT_EQUAL(coco_index_open(&(struct coco_index){0}, "/nowhere/at/all", NULL), -1);
}

static void a_damaged_or_older_cache_is_made_anew(void) {
    cleanup_buf struct buf bytes = {.max = 1 << 20};
    char cache[PATH_MAX];
    make_cache(cache, "anew.index", &bytes);
    /* The version, a byte of the body. */
    const size_t places[] = {8, bytes.size - 1};
    for (int i = 0; i < 2; i++) {
        struct error err = {0};
        cleanup_coco_index struct coco_index index = {0}, again = {0};
        bytes.data[places[i]] ^= 1;
        put(cache, bytes.data, bytes.size);
        bytes.data[places[i]] ^= 1;
        CU_ASSERT_EQUAL(coco_index_open(&index, cache, &err), -1);
        ASSERT_CONTAINS(err.text, i == 0 ? "an index of version 3" : "a damaged index");
        CU_ASSERT_EQUAL(coco_index_load(&index, write_text("set.json", SET), cache, &err), 0);
        CU_ASSERT_EQUAL(coco_index_open(&again, cache, &err), 0);
    }
}

/* What was read stays when the file is cut under it: no SIGBUS. */
static void an_open_index_does_not_feel_its_file_shrink(void) {
    cleanup_buf struct buf bytes = {.max = 1 << 20};
    cleanup_coco_index struct coco_index index = {0};
    struct error err = {0};
    char cache[PATH_MAX];
    make_cache(cache, "shrinks.index", &bytes);
    CU_ASSERT_EQUAL_FATAL(coco_index_open(&index, cache, &err), 0);
    CU_ASSERT_EQUAL_FATAL(truncate(cache, 0), 0);
    CU_ASSERT_EQUAL(index.annotations[2].id, 8);
    CU_ASSERT_STRING_EQUAL(coco_index_name(&index, index.images[0].name), "four.jpg");
}

/* What a caller hands in may come from anywhere: a name and an outline beyond the index are none.
 */
static void places_beyond_the_index_are_empty(void) {
    cleanup_coco_index struct coco_index index = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(coco_index_load(&index, write_text("set.json", SET), NULL, &err), 0);
    CU_ASSERT_STRING_EQUAL(coco_index_name(&index, index.names_size), "");
    CU_ASSERT_STRING_EQUAL(coco_index_name(&index, UINT64_MAX), "");
    CU_ASSERT_STRING_EQUAL(coco_index_name(&index, 1), "nine.jpg");
    size_t whole = index.names_size;
    index.names_size = 1;
    CU_ASSERT_STRING_EQUAL(coco_index_name(&index, 1), "");
    index.names_size = whole;
    struct coco_annotation a = index.annotations[1];
    CU_ASSERT_EQUAL(coco_index_segment(&index, &a).kind, COCO_SEGMENT_POLYGONS);
    a.segment_size = (uint32_t)(index.segments_size - a.segment) + 1;
    CU_ASSERT_EQUAL(coco_index_segment(&index, &a).kind, COCO_SEGMENT_NONE);
    a.segment = index.segments_size + 1;
    a.segment_size = 0;
    CU_ASSERT_EQUAL(coco_index_segment(&index, &a).kind, COCO_SEGMENT_NONE);
}

static void lists_that_are_missing_are_known(void) {
    static const char *const CASES[][2] = {{"{}", "images"},
                                           {"{\"images\":[]}", "categories"},
                                           {"{\"images\":[],\"categories\":[]}", "annotations"}};
    for (int i = 0; i < 3; i++) {
        cleanup_coco_index struct coco_index index = {0};
        CU_ASSERT_EQUAL_FATAL(
            coco_index_load(&index, write_text("less.json", CASES[i][0]), NULL, NULL), 0);
        CU_ASSERT_STRING_EQUAL(coco_index_missing(&index), CASES[i][1]);
    }
    cleanup_coco_index struct coco_index index = {0};
    CU_ASSERT_EQUAL_FATAL(coco_index_load(&index, write_text("set.json", SET), NULL, NULL), 0);
    CU_ASSERT_PTR_NULL(coco_index_missing(&index));
}

UNIT_MAIN("data.coco_index", UNIT(images_categories_and_annotations_are_numbered_by_id),
          UNIT(masks_come_from_polygons_and_runs), UNIT(of_repeated_ids_the_last_image_counts),
          UNIT(a_cache_is_used_until_the_json_changes), UNIT(a_cache_is_of_a_content_not_of_a_date),
          UNIT(somebody_elses_file_is_no_place_for_an_index), UNIT(every_changed_bit_is_found),
          UNIT(an_index_cut_short_is_found_at_every_length),
          UNIT(a_damaged_or_older_cache_is_made_anew),
          UNIT(an_open_index_does_not_feel_its_file_shrink),
          UNIT(places_beyond_the_index_are_empty), UNIT(lists_that_are_missing_are_known))
