#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/data/dataset/splits.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder with empty files at the PATHS, which are separated by blanks; those that end with '/'
 * are empty folders. */
static const char *make(const char *paths) {
    static char dir[PATH_MAX];
    static int made;
    char text[512];
    (void)snprintf(dir, sizeof(dir), "%s/%d", unit_temp_dir(), made++);
    (void)snprintf(text, sizeof(text), "%s", paths);
    for (char *save = NULL, *p = strtok_r(text, " ", &save); p != NULL;
         p = strtok_r(NULL, " ", &save)) {
        char path[PATH_MAX + 512];
        (void)snprintf(path, sizeof(path), "%s/%s", dir, p);
        char *slash = strrchr(path, '/');
        *slash = '\0';
        CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, NULL), 0);
        *slash = '/';
        if (slash[1] != '\0')
            CU_ASSERT_EQUAL_FATAL(file_put(path, "x", 1, 0644, NULL), 0);
    }
    return dir;
}

/* How DIR is read: "classes", "TRAINING+VALIDATION" or "refused", with '!' appended if there is a
 * note. */
static const char *reading(const char *paths) {
    static char text[2 * NAME_MAX + 8];
    struct splits splits;
    struct error err = {0};
    const char *dir = make(paths);
    if (splits_find(&splits, dir, &err) != 0) {
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        ASSERT_CONTAINS(err.text, dir);
        return "refused";
    }
    const char *note = splits.note[0] != '\0' ? "!" : "";
    if (splits.parts)
        (void)snprintf(text, sizeof(text), "%s+%s%s", splits.training, splits.validation, note);
    else
        (void)snprintf(text, sizeof(text), "classes%s", note);
    return text;
}

static void check(const char *paths, const char *wanted) {
    const char *got = reading(paths);
    if (strcmp(got, wanted) != 0)
        printf("\n%s: read as %s, not %s\n", paths, got, wanted);
    CU_ASSERT_STRING_EQUAL(got, wanted);
}

static void parts_are_known_by_their_names(void) {
    check("train/a/1.png train/b/1.png val/a/1.png val/b/1.png", "train+val");
    check("train/a/1.png training/a/1.png", "train+");
    check("training/a/1.png test/a/1.png", "training+test");
    check("train/a/1.png valid/a/1.png test/a/1.png", "train+valid");
    check("train/a/1.png test/a/1.png dev/a/1.png", "train+dev");
    check("train/a/1.png test/a/1.png eval/a/1.png", "train+eval");
    check("Training/a/1.png Testing/a/1.png", "Training+Testing");
    check("train/a/x/1.png val/a/y/1.png", "train+val");
    check("val/a/1.png test/a/1.png", "+val");
    /* What holds no pictures counts for nothing. */
    check("train/a/1.png val/a/1.png annotations/x.json models/ .cache/1.png 1.png", "train+val");
    check("train/a/1.png val/", "train+");
}

static void classes_may_have_these_names(void) {
    check("bus/1.png car/1.png", "classes");
    check("bus/1.png car/1.png train/1.png", "classes");
    check("bus/1.png test/1.png train/1.png val/1.png", "classes");
    check("dev/1.png eval/1.png x/1.png", "classes");
    /* Folders in a class are reported. */
    check("bus/1.png train/2019/1.png train/2020/1.png", "classes!");
    check("bus/a/1.png bus/b/1.png car/a/1.png train/a/1.png train/b/1.png", "classes!");
    check("bus/1.png test/2019/1.png", "classes!");
    check("bus/1.png train/2019/1.png test/2020/1.png", "classes!");
}

static void parts_beside_other_folders_are_reported(void) {
    check("train/a/1.png val/a/1.png raw/1.png", "train+val!");
    check("train/a/1.png train/b/1.png val/b/1.png raw/x/1.png", "train+val!");
    check("train/a/1.png test/1.png", "train+!"); /* pictures that nobody has labelled */
}

static void two_readings_are_refused(void) {
    check("bus/a/1.png test/a/1.png train/a/1.png", "refused");
    check("cat/1.png dog/1.png val/cat/1.png val/dog/1.png", "refused");
    check("train/1.png val/1.png", "refused");
    check("test/1.png train/1.png val/1.png", "refused");
    struct splits splits;
    struct error err = {0};
    CU_ASSERT_EQUAL(splits_find(&splits, make("cat/1.png dog/1.png val/cat/1.png"), &err), -1);
    ASSERT_CONTAINS(err.text, "cat/, dog/, val/");
    ASSERT_CONTAINS(err.text, "/train");
}

/* The scan reports what is wrong with it. */
static void what_is_missing_is_left_to_the_scan(void) {
    check("train/1.png", "train+train");
    check("1.png", "classes");
    check("train/ val/", "classes");
    check("train/ cat/1.png", "classes");
}

static void all_parts_are_listed(void) {
    struct splits splits;
    const char *dir = make("val/a/1.png test/a/1.png train/a/1.png dev/1.png");
    CU_ASSERT_EQUAL(splits_find(&splits, dir, NULL), 0);
    CU_ASSERT_STRING_EQUAL(splits.all[0], "test");
    CU_ASSERT_STRING_EQUAL(splits.all[1], "train");
    CU_ASSERT_STRING_EQUAL(splits.all[2], "val");
    CU_ASSERT_STRING_EQUAL(splits.all[3], "");
    ASSERT_CONTAINS(splits.note, "dev/");
}

static void loops_of_links_end(void) {
    char link[PATH_MAX + 16];
    struct splits splits;
    const char *dir = make("train/a/x.txt val/a/1.png");
    (void)snprintf(link, sizeof(link), "%s/train/a/again", dir);
    CU_ASSERT_EQUAL(symlink("..", link), 0);
    CU_ASSERT_EQUAL(splits_find(&splits, dir, NULL), 0);
    CU_ASSERT_STRING_EQUAL(splits.validation, "val");
}

static void a_folder_that_cannot_be_read_is_named(void) {
    struct splits splits;
    struct error err = {0};
    CU_ASSERT_EQUAL(splits_find(&splits, "/no/such/folder", &err), -1);
    ASSERT_CONTAINS(err.text, "/no/such/folder");
    if (geteuid() == 0)
        return; /* root may read everything */
    const char *dir = make("train/a/1.png val/a/1.png");
    char path[PATH_MAX + 16];
    (void)snprintf(path, sizeof(path), "%s/train", dir);
    CU_ASSERT_EQUAL(chmod(path, 0), 0);
    CU_ASSERT_EQUAL(splits_find(&splits, dir, &err), -1);
    ASSERT_CONTAINS(err.text, "train: Permission denied");
    CU_ASSERT_EQUAL(chmod(path, 0755), 0);
}

UNIT_SUITE("data.dataset.splits", UNIT(parts_are_known_by_their_names),
           UNIT(classes_may_have_these_names), UNIT(parts_beside_other_folders_are_reported),
           UNIT(two_readings_are_refused), UNIT(what_is_missing_is_left_to_the_scan),
           UNIT(all_parts_are_listed), UNIT(loops_of_links_end),
           UNIT(a_folder_that_cannot_be_read_is_named))
