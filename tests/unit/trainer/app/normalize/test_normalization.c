#include "trainer/app/normalize/normalization.h"

#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/models/model.h"

#include <stdio.h>
#include <string.h>

enum { SIDE = 4, PIXELS = SIDE * SIDE };

/* Writes a picture of one colour. */
static void put(const char *folder, const char *name, const unsigned char color[3]) {
    char path[1200];
    cleanup_buf struct buf out = {.max = 4096};
    CU_ASSERT_EQUAL(buf_printf(&out, NULL, "P6\n%d %d\n255\n", SIDE, SIDE), 0);
    for (int i = 0; i < PIXELS; i++)
        CU_ASSERT_EQUAL(buf_add(&out, color, 3, NULL), 0);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    *strrchr(path, '/') = '\0';
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, NULL), 0);
    path[strlen(path)] = '/';
    CU_ASSERT_EQUAL_FATAL(file_put(path, out.data, out.size, 0644, NULL), 0);
}

static int find(const char *mean, const char *std, const struct dataset *set,
                struct normalization *ret, struct error *err) {
    const struct options o = {.mean = mean, .std = std, .data_threads = 2};
    const struct dataset_part whole = {0};
    struct comm *self = NULL;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&self, NULL), 0);
    const int result = normalization_find(&o, self, set, &whole, ret, err);
    comm_close(self);
    return result;
}

static int check(const char *mean, const char *std, bool synthetic, struct error *err) {
    const struct options o = {.mean = mean, .std = std};
    return normalization_check(&o, synthetic, err);
}

static void is_near(const double values[3], double r, double g, double b) {
    CU_ASSERT_DOUBLE_EQUAL(values[0], r, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(values[1], g, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(values[2], b, 1e-12);
}

static void numbers_count_pixels_to_1_or_to_255(void) {
    double values[3];
    CU_ASSERT_EQUAL(normalization_parse("--mean", "0.5,0.25,1", values, NULL), 0);
    is_near(values, 0.5, 0.25, 1);
    CU_ASSERT_EQUAL(normalization_parse("--mean", "51,0.5,255", values, NULL), 0);
    is_near(values, 0.2, 0.5 / 255, 1);
}

static void other_texts_are_refused(void) {
    static const char *const wrong[] = {"",       "1,2",     "1,2,3,4", "a,b,c", "1,,2",
                                        "-1,0,0", "0,0,256", "nan,0,0", "1,2,3,"};
    double values[3];
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(normalization_parse("--std", wrong[i], values, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
        ASSERT_CONTAINS(err.text, "--std: ");
    }
}

static void the_default_is_imagenets(void) {
    struct normalization n;
    CU_ASSERT_EQUAL(find("imagenet", "auto", NULL, &n, NULL), 0);
    is_near(n.mean, MODEL_MEAN[0], MODEL_MEAN[1], MODEL_MEAN[2]);
    is_near(n.std, MODEL_STD[0], MODEL_STD[1], MODEL_STD[2]);
}

static void given_numbers_need_both(void) {
    struct normalization n;
    struct error err = {0};
    CU_ASSERT_EQUAL(find("121,115,100", "70,68,71", NULL, &n, NULL), 0);
    is_near(n.mean, 121 / 255.0, 115 / 255.0, 100 / 255.0);
    is_near(n.std, 70 / 255.0, 68 / 255.0, 71 / 255.0);
    CU_ASSERT_EQUAL(find("0.5,0.5,0.5", "auto", NULL, &n, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    CU_ASSERT_EQUAL(find("data", "1,1,1", NULL, &n, &err), -1);
    CU_ASSERT_EQUAL(find("0.5,0.5,0.5", "0.5,0,0.5", NULL, &n, &err), -1);
    ASSERT_CONTAINS(err.text, "--std: 0");
}

static void the_datas_own_are_those_of_its_pixels(void) {
    char folder[600];
    struct normalization n;
    cleanup_dataset struct dataset set = {0};
    snprintf(folder, sizeof(folder), "%s/set", unit_temp_dir());
    put(folder, "a/1.ppm", (const unsigned char[]){0, 51, 255});
    put(folder, "b/1.ppm", (const unsigned char[]){255, 51, 255});
    put(folder, "b/2.ppm", (const unsigned char[]){0, 51, 0});
    put(folder, "b/3.ppm", (const unsigned char[]){255, 51, 0});
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, folder, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(find("data", "auto", &set, &n, NULL), 0);
    is_near(n.mean, 0.5, 0.2, 0.5);
    /* A channel of one value would blow noise up. */
    is_near(n.std, 0.5, 1e-3, 0.5);
}

static void a_picture_that_cannot_be_used_is_left_out(void) {
    char folder[600], path[700];
    struct normalization n;
    struct error err = {0};
    cleanup_dataset struct dataset set = {0}, none = {0};
    snprintf(folder, sizeof(folder), "%s/partly", unit_temp_dir());
    put(folder, "a/1.ppm", (const unsigned char[]){0, 0, 0});
    put(folder, "b/1.ppm", (const unsigned char[]){255, 51, 102});
    snprintf(path, sizeof(path), "%s/b/2.ppm", folder);
    CU_ASSERT_EQUAL_FATAL(file_put(path, "P6\n4 4\n255\nx", 12, 0644, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&set, folder, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(find("data", "auto", &set, &n, NULL), 0);
    is_near(n.mean, 0.5, 0.1, 0.2);
    snprintf(folder, sizeof(folder), "%s/none", unit_temp_dir());
    put(folder, "a/1.ppm", (const unsigned char[]){0, 0, 0});
    snprintf(path, sizeof(path), "%s/a/1.ppm", folder);
    CU_ASSERT_EQUAL_FATAL(file_put(path, "P6\n4 4\n255\nx", 12, 0644, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(dataset_open_folder(&none, folder, NULL), 0);
    CU_ASSERT_EQUAL(find("data", "auto", &none, &n, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "no picture can be used");
}

static void a_synthetic_set_has_no_pictures(void) {
    struct error err = {0};
    CU_ASSERT_EQUAL(check("data", "auto", true, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "the synthetic set has no pictures");
    CU_ASSERT_EQUAL(check("data", "auto", false, NULL), 0);
    CU_ASSERT_EQUAL(check("imagenet", "auto", true, NULL), 0);
}

static void flags_are_checked_without_the_set(void) {
    struct error err = {0};
    CU_ASSERT_EQUAL(check("121,115,100", "70,68,71", false, NULL), 0);
    CU_ASSERT_EQUAL(check("data", "1,1,1", false, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    CU_ASSERT_EQUAL(check("0.5,0.5", "1,1,1", false, &err), -1);
    ASSERT_CONTAINS(err.text, "--mean: '0.5,0.5'");
    CU_ASSERT_EQUAL(check("0.5,0.5,0.5", "1,0,1", false, &err), -1);
    ASSERT_CONTAINS(err.text, "--std: 0");
}

UNIT_SUITE("app.normalization", UNIT(numbers_count_pixels_to_1_or_to_255),
           UNIT(other_texts_are_refused), UNIT(the_default_is_imagenets),
           UNIT(given_numbers_need_both), UNIT(the_datas_own_are_those_of_its_pixels),
           UNIT(a_picture_that_cannot_be_used_is_left_out), UNIT(a_synthetic_set_has_no_pictures),
           UNIT(flags_are_checked_without_the_set))
