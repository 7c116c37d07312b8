#include "trainer/data/coco/coco_folder.h"

#include "common/file/file.h"
#include "tests/unit/trainer/data/coco/coco_files.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void make_folder(const char *name, char path[PATH_MAX]) {
    struct error err = {0};
    snprintf(path, PATH_MAX, "%s/%s", unit_temp_dir(), name);
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, &err), 0);
}

static void sets_are_found_with_their_pictures(void) {
    cleanup_coco_folder struct coco_folder folder = {0};
    struct error err = {0};
    char root[PATH_MAX], path[PATH_MAX];
    make_folder("set/annotations", path);
    make_folder("set/val2017", path);
    make_folder("set", root);
    (void)write_text("set/annotations/instances_val2017.json", "{}");
    (void)write_text("set/annotations/instances_a.json", "{}");
    (void)write_text("set/annotations/captions_val2017.json", "{}");
    CU_ASSERT_EQUAL_FATAL(coco_folder_open(&folder, root, &err), 0);
    CU_ASSERT_EQUAL_FATAL(folder.count, 2);
    CU_ASSERT_STRING_EQUAL(folder.sets[0].name, "a");
    CU_ASSERT_STRING_EQUAL(folder.sets[0].pictures, "");
    CU_ASSERT_STRING_EQUAL(folder.sets[1].name, "val2017");
    ASSERT_CONTAINS(folder.sets[1].pictures, "/set/val2017");
}

static void a_json_alone_is_a_set(void) {
    cleanup_coco_folder struct coco_folder folder = {0}, named = {0};
    struct error err = {0};
    char path[PATH_MAX];
    CU_ASSERT_EQUAL_FATAL(coco_folder_open(&folder, write_text("own.json", "{}"), &err), 0);
    CU_ASSERT_EQUAL_FATAL(folder.count, 1);
    CU_ASSERT_STRING_EQUAL(folder.sets[0].name, "own");
    CU_ASSERT_STRING_EQUAL(folder.sets[0].pictures, "");
    make_folder("other/annotations", path);
    make_folder("other/val", path);
    CU_ASSERT_EQUAL_FATAL(
        coco_folder_open(&named, write_text("other/annotations/instances_val.json", "{}"), &err),
        0);
    ASSERT_CONTAINS(named.sets[0].pictures, "/val");
    CU_ASSERT_EQUAL(access(named.sets[0].pictures, R_OK), 0);
}

static void a_folder_without_annotations_is_refused(void) {
    cleanup_coco_folder struct coco_folder folder = {0};
    struct error err = {0};
    char path[PATH_MAX];
    make_folder("empty/annotations", path);
    make_folder("empty", path);
    CU_ASSERT_EQUAL(coco_folder_open(&folder, path, &err), -1);
    ASSERT_CONTAINS(err.text, "empty: no COCO annotations in it; expected annotations/instances_");
    make_folder("bare", path);
    CU_ASSERT_EQUAL(coco_folder_open(&folder, path, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "bare: no COCO annotations in it");
    CU_ASSERT_EQUAL(coco_folder_open(&folder, "/nowhere/at/all", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
}

static void a_set_is_picked_by_name_or_by_how_it_begins(void) {
    cleanup_coco_folder struct coco_folder folder = {0}, alone = {0};
    struct error err = {0};
    char path[PATH_MAX];
    make_folder("pick/annotations", path);
    for (int year = 2014; year <= 2017; year += 3) {
        char name[64];
        snprintf(name, sizeof(name), "pick/annotations/instances_train%d.json", year);
        (void)write_text(name, "{}");
    }
    (void)write_text("pick/annotations/instances_val2017.json", "{}");
    make_folder("pick", path);
    CU_ASSERT_EQUAL_FATAL(coco_folder_open(&folder, path, &err), 0);
    const struct coco_set *set = coco_folder_pick(&folder, path, NULL, "val", "--val-set", &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(set);
    CU_ASSERT_STRING_EQUAL(set->name, "val2017");
    set = coco_folder_pick(&folder, path, "train2014", "train", "--train-set", &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(set);
    CU_ASSERT_STRING_EQUAL(set->name, "train2014");
    CU_ASSERT_PTR_NULL(coco_folder_pick(&folder, path, NULL, "train", "--train-set", &err));
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "more than one set with a name that begins with 'train'; there are "
                              "train2014, train2017, val2017: give --train-set");
    CU_ASSERT_PTR_NULL(coco_folder_pick(&folder, path, NULL, "test", "--val-set", &err));
    ASSERT_CONTAINS(err.text, "no set with a name that begins with 'test'");
    CU_ASSERT_PTR_NULL(coco_folder_pick(&folder, path, "val", "val", "--val-set", &err));
    ASSERT_CONTAINS(err.text, "no set 'val' (--val-set)");
    /* A JSON is what was meant, whatever it is called. */
    const char *json = write_text("pick/annotations/instances_val2017.json", "{}");
    CU_ASSERT_EQUAL_FATAL(coco_folder_open(&alone, json, &err), 0);
    CU_ASSERT_PTR_NOT_NULL(coco_folder_pick(&alone, json, NULL, "train", "--train-set", &err));
}

/* FOLDER has COUNT sets, of which the first is NAME with PICTURES, a path below FOLDER. */
static void expect_sets(const char *folder_name, size_t count, const char *name,
                        const char *pictures) {
    cleanup_coco_folder struct coco_folder folder = {0};
    struct error err = {0};
    char root[PATH_MAX], wanted[2 * PATH_MAX];
    snprintf(root, sizeof(root), "%s/%s", unit_temp_dir(), folder_name);
    snprintf(wanted, sizeof(wanted), "%s%s", root, strcmp(pictures, "/") == 0 ? "" : pictures);
    CU_ASSERT_EQUAL_FATAL(coco_folder_open(&folder, root, &err), 0);
    CU_ASSERT_EQUAL_FATAL(folder.count, count);
    CU_ASSERT_STRING_EQUAL(folder.sets[0].name, name);
    CU_ASSERT_STRING_EQUAL(folder.sets[0].pictures, pictures[0] != '\0' ? wanted : "");
    CU_ASSERT_EQUAL(coco_folder_only(&folder) != NULL, count == 1);
}

static void other_layouts_are_read_too(void) {
    char path[PATH_MAX];
    make_folder("shared/annotations", path);
    make_folder("shared/images", path);
    (void)write_text("shared/annotations/train.json", "{}");
    (void)write_text("shared/annotations/val.json", "{}");
    expect_sets("shared", 2, "train", "/images");
    make_folder("shared/images/train", path);
    expect_sets("shared", 2, "train", "/images/train");
    (void)write_text("shared/annotations/instances_val.json", "{}"); /* then only such count */
    expect_sets("shared", 1, "val", "/images");

    make_folder("export/train", path);
    make_folder("export/valid", path);
    make_folder("export/notes", path);
    (void)write_text("export/train/_annotations.coco.json", "{}");
    (void)write_text("export/valid/_annotations.coco.json", "{}");
    expect_sets("export", 2, "train", "/train");

    make_folder("flat", path);
    (void)write_text("flat/annotations.json", "{}");
    (void)write_text("flat/.hidden.json", "{}");
    expect_sets("flat", 1, "annotations", "");
    (void)write_text("flat/A.JPG", "");
    expect_sets("flat", 1, "annotations", "/");
    make_folder("flat/images", path);
    expect_sets("flat", 1, "annotations", "/images");
    (void)write_text("flat/instances_val.json", "{}");
    make_folder("flat/val", path);
    expect_sets("flat", 1, "val", "/val");
}

static void pictures_of_a_json_are_beside_it_or_its_folder(void) {
    static const char *const rows[][3] = {
        {"j1/own.json", "j1/images", "/j1/images"},
        {"j2/instances_a.json", "j2/a", "/j2/a"},
        {"j3/labels/own.json", "j3/images", "/j3/labels/../images"},
        {"j4/annotations/own.json", "j4/images", "/j4/images"},
        {"j5/_annotations.coco.json", "j5/images", "/j5"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cleanup_coco_folder struct coco_folder folder = {0};
        struct error err = {0};
        char path[PATH_MAX], parent[64];
        snprintf(parent, sizeof(parent), "%.*s", (int)(strrchr(rows[i][0], '/') - rows[i][0]),
                 rows[i][0]);
        make_folder(parent, path);
        make_folder(rows[i][1], path);
        const char *json = write_text(rows[i][0], "{}");
        CU_ASSERT_EQUAL_FATAL(coco_folder_open(&folder, json, &err), 0);
        snprintf(path, sizeof(path), "%s%s", unit_temp_dir(), rows[i][2]);
        CU_ASSERT_STRING_EQUAL(folder.sets[0].pictures, path);
    }
}

UNIT_SUITE("data.coco_folder", UNIT(a_set_is_picked_by_name_or_by_how_it_begins),
           UNIT(sets_are_found_with_their_pictures), UNIT(a_json_alone_is_a_set),
           UNIT(a_folder_without_annotations_is_refused), UNIT(other_layouts_are_read_too),
           UNIT(pictures_of_a_json_are_beside_it_or_its_folder))
