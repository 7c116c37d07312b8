#include "trainer/data/coco/coco_pictures.h"

#include "common/file/file.h"
#include "tests/unit/trainer/data/coco/coco_files.h"

#include <string.h>

static char root[PATH_MAX / 2];

static void make_folder(const char *name) {
    struct error err = {0};
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, &err), 0);
}

static void expect(const char *wanted, bool loose) {
    struct error err = {0};
    char found[PATH_MAX], path[PATH_MAX];
    snprintf(path, sizeof(path), "%s%s", wanted != NULL ? root : "", wanted != NULL ? wanted : "");
    CU_ASSERT_EQUAL_FATAL(coco_pictures_find(found, root, "val", loose, &err), 0);
    CU_ASSERT_STRING_EQUAL(found, path);
}

static void the_nearest_folder_wins(void) {
    snprintf(root, sizeof(root), "%s/pictures", unit_temp_dir());
    make_folder("");
    expect(NULL, true);
    (void)write_text("pictures/notes.txt", "");
    (void)write_text("pictures/.hidden.jpg", "");
    expect(NULL, true);
    (void)write_text("pictures/1.jpg", "");
    expect("", true);
    expect(NULL, false);
    make_folder("images");
    expect("/images", true);
    make_folder("images/val");
    expect("/images/val", false);
    make_folder("val");
    expect("/val", true);
}

static void a_path_that_is_too_long_is_refused(void) {
    static char longer[PATH_MAX];
    struct error err = {0};
    char found[PATH_MAX];
    memset(longer, 'a', sizeof(longer) - 1);
    CU_ASSERT_EQUAL(coco_pictures_find(found, longer, "val", false, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "path too long");
}

UNIT_SUITE("data.coco_pictures", UNIT(the_nearest_folder_wins),
           UNIT(a_path_that_is_too_long_is_refused))
