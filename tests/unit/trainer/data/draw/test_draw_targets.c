#include "trainer/data/coco/coco_load.h"
#include "trainer/data/draw/draw_targets.h"

#include "common/file/file.h"
#include "tests/unit/trainer/data/coco/coco_files.h"

#include <string.h>

static const char SET[] =
    "{\"images\":[{\"id\":1,\"file_name\":\"x/1.jpg\"},{\"id\":2,\"file_name\":\"y/1.jpg\"},"
    "{\"id\":3,\"file_name\":\"a.jpg\"},{\"id\":4,\"file_name\":\"a.png\"},"
    "{\"id\":5,\"file_name\":\"../../etc/./x.y.png\"},{\"id\":6,\"file_name\":\"/root/b\"},"
    "{\"id\":7},{\"id\":8,\"file_name\":\"x/.hidden\"}]}";

static int make(struct draw_targets *ret, struct coco_index *index, const char *set,
                const char *out, char folder[PATH_MAX], struct error *err) {
    snprintf(folder, PATH_MAX, "%s/%s", unit_temp_dir(), out);
    CU_ASSERT_EQUAL_FATAL(coco_load(index, write_text("set.json", set), NULL, err), 0);
    return draw_targets_make(ret, index, 0, index->image_count, 0, folder, "jpg", err);
}

static void every_image_has_a_place_of_its_own_below(void) {
    static const char *const WANTED[] = {"/x/1.jpg",   "/y/1.jpg",      "/a-3.jpg",
                                         "/a-4.jpg",   "/etc/x.y.jpg",  "/root/b.jpg",
                                         "/image.jpg", "/x/.hidden.jpg"};
    cleanup_coco_index struct coco_index index = {0};
    cleanup_draw_targets struct draw_targets targets = {0};
    struct error err = {0};
    char folder[PATH_MAX];
    CU_ASSERT_EQUAL_FATAL(make(&targets, &index, SET, "drawn", folder, &err), 0);
    CU_ASSERT_EQUAL_FATAL(targets.count, 8);
    for (int i = 0; i < 8; i++) {
        CU_ASSERT_EQUAL(strncmp(targets.list[i].path, folder, strlen(folder)), 0);
        CU_ASSERT_STRING_EQUAL(targets.list[i].path + strlen(folder), WANTED[i]);
        CU_ASSERT_EQUAL(targets.list[i].image->id, i + 1);
    }
}

static void the_folder_of_all_images_is_found_and_left_out(void) {
    static const struct {
        const char *set;
        size_t shared;
        const char *first;
    } rows[] = {
        {"{\"images\":[{\"id\":1,\"file_name\":\"/a/b/1.jpg\"}]}", 5, "/1.jpg"},
        {"{\"images\":[{\"id\":1,\"file_name\":\"/a/b/1.jpg\"},{\"id\":2,\"file_name\":\"/a/b/c/"
         "1.jpg\"}]}",
         5, "/1.jpg"},
        {"{\"images\":[{\"id\":1,\"file_name\":\"/a/bc/1.jpg\"},{\"id\":2,\"file_name\":\"/a/b/"
         "1.jpg\"}]}",
         3, "/bc/1.jpg"},
        {"{\"images\":[{\"id\":1,\"file_name\":\"a/1.jpg\"},{\"id\":2,\"file_name\":\"2.jpg\"}]}",
         0, "/a/1.jpg"},
        {"{\"images\":[]}", 0, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cleanup_coco_index struct coco_index index = {0};
        cleanup_draw_targets struct draw_targets targets = {0};
        char folder[PATH_MAX];
        snprintf(folder, PATH_MAX, "%s/shared%zu", unit_temp_dir(), i);
        CU_ASSERT_EQUAL_FATAL(coco_load(&index, write_text("set.json", rows[i].set), NULL, NULL),
                              0);
        size_t shared = draw_targets_shared(&index, 0, index.image_count);
        CU_ASSERT_EQUAL(shared, rows[i].shared);
        CU_ASSERT_EQUAL_FATAL(
            draw_targets_make(&targets, &index, 0, index.image_count, shared, folder, "jpg", NULL),
            0);
        if (rows[i].first != NULL)
            CU_ASSERT_STRING_EQUAL(targets.list[0].path + strlen(folder), rows[i].first);
    }
}

/* A file is kept whether it is in the way of the first picture, the last, or one in between. */
static void what_is_there_stays(void) {
    static const char *const THERE[] = {"x/1.jpg", "a-4.jpg", "x/.hidden.jpg"};
    for (int i = 0; i < 3; i++) {
        cleanup_coco_index struct coco_index index = {0};
        cleanup_draw_targets struct draw_targets targets = {0};
        struct error err = {0};
        char out[16], folder[PATH_MAX], path[2 * PATH_MAX];
        snprintf(out, sizeof(out), "full%d", i);
        snprintf(path, sizeof(path), "%s/%s/x", unit_temp_dir(), out);
        CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, &err), 0);
        snprintf(path, sizeof(path), "%s/%s/%s", unit_temp_dir(), out, THERE[i]);
        CU_ASSERT_EQUAL_FATAL(file_publish(path, "mine", 4, 0644, &err), 0);
        CU_ASSERT_EQUAL(make(&targets, &index, SET, out, folder, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, path);
        CU_ASSERT_EQUAL(targets.count, 0);
    }
}

static void names_that_cannot_be_parted_are_refused(void) {
    cleanup_coco_index struct coco_index index = {0};
    cleanup_draw_targets struct draw_targets targets = {0};
    struct error err = {0};
    char folder[PATH_MAX];
    CU_ASSERT_EQUAL(make(&targets, &index,
                         "{\"images\":[{\"id\":3,\"file_name\":\"a.jpg\"},{\"id\":4,\"file_name\":"
                         "\"a.png\"},{\"id\":5,\"file_name\":\"a-4.jpg\"}]}",
                         "met", folder, &err),
                    -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "would both be");
}

UNIT_SUITE("data.draw_targets", UNIT(every_image_has_a_place_of_its_own_below),
           UNIT(the_folder_of_all_images_is_found_and_left_out), UNIT(what_is_there_stays),
           UNIT(names_that_cannot_be_parted_are_refused))
