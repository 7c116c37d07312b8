#include "entrypoint/study/study_values.h"

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[32];

static void write_log(const char *text) {
    char path[64];
    struct error err = {0};
    (void)snprintf(path, sizeof(path), "%s/rank-0.log", folder);
    CU_ASSERT_EQUAL_FATAL(file_put(path, text, strlen(text), 0644, &err), 0);
}

static void make_folder(void) {
    (void)snprintf(folder, sizeof(folder), "/tmp/values-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
}

static void remove_folder(void) {
    char path[64];
    (void)snprintf(path, sizeof(path), "%s/rank-0.log", folder);
    (void)unlink(path);
    (void)rmdir(folder);
}

static void the_last_value_counts(void) {
    make_folder();
    CU_ASSERT_TRUE(isnan(study_values_last(folder, "a")));
    write_log("a=1\nb=2\na=3\n");
    CU_ASSERT_DOUBLE_EQUAL(study_values_last(folder, "a"), 3, 0);
    CU_ASSERT_TRUE(isnan(study_values_last(folder, "c")));
    write_log("a=1\na=nan\n");
    CU_ASSERT_TRUE(isnan(study_values_last(folder, "a")));
    remove_folder();
}

static void the_median_leaves_out_the_warm_up(void) {
    make_folder();
    CU_ASSERT_TRUE(isnan(study_values_median(folder, "a")));
    write_log("a=7\n");
    CU_ASSERT_DOUBLE_EQUAL(study_values_median(folder, "a"), 7, 0);
    write_log("a=100\na=1\na=3\n");
    CU_ASSERT_DOUBLE_EQUAL(study_values_median(folder, "a"), 2, 0);
    write_log("a=100 a=90 a=5 a=4 a=3 a=2 a=1 a=6 a=7 a=8 a=9 a=10 a=11 ");
    CU_ASSERT_DOUBLE_EQUAL(study_values_median(folder, "a"), 6, 0);
    write_log("a=1\na=2\na=nan\n");
    CU_ASSERT_TRUE(isnan(study_values_median(folder, "a")));
    remove_folder();
}

UNIT_SUITE("study.study_values", UNIT(the_last_value_counts),
           UNIT(the_median_leaves_out_the_warm_up))
