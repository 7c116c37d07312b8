#include "common/scaling/scaling_page.h"
#include "tests/unit/common/scaling/study.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[32];

static bool is_written(void) {
    char path[64];
    (void)snprintf(path, sizeof(path), "%s/" SCALING_HTML_NAME, folder);
    return access(path, F_OK) == 0;
}

static void make_folder(void) {
    (void)snprintf(folder, sizeof(folder), "/tmp/report-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
}

static void what_was_measured_is_written(void) {
    struct scaling_study s;
    struct error err = {0};
    make_folder();
    fill(&s);
    CU_ASSERT_EQUAL(scaling_report(&s, folder, 0, &err), 0);
    CU_ASSERT_TRUE(is_written());
    CU_ASSERT(s.model.form != SCALING_NO_MODEL);
}

static void a_stop_is_told_and_keeps_the_report(void) {
    struct scaling_study s, none = {0};
    struct error err = {.code = EXIT_CODE_STOPPED};
    make_folder();
    CU_ASSERT_EQUAL(scaling_report(&none, folder, -1, &err), -1);
    CU_ASSERT_FALSE(is_written());
    fill(&s);
    CU_ASSERT_EQUAL(scaling_report(&s, folder, -1, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_STOPPED);
    CU_ASSERT_TRUE(is_written());
}

static void no_size_at_all_is_an_error(void) {
    struct scaling_study s;
    struct error err = {0};
    make_folder();
    fill(&s);
    s.points[0] = s.points[3];
    s.count = 1;
    CU_ASSERT_EQUAL(scaling_report(&s, folder, 0, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "rank 3 ended with 66"));
}

static void three_files_are_written(void) {
    static const char *const names[] = {SCALING_TEXT_NAME, SCALING_CSV_NAME, SCALING_HTML_NAME};
    char out[] = "/tmp/scaling-XXXXXX", path[64];
    struct scaling_study s;
    struct error err = {0};
    struct stat about;
    fill(&s);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(out));
    CU_ASSERT_EQUAL(scaling_write(&s, out, &err), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", out, names[i]);
        CU_ASSERT_EQUAL(stat(path, &about), 0);
        CU_ASSERT(about.st_size > 100);
        (void)unlink(path);
    }
    (void)rmdir(out);
    CU_ASSERT_EQUAL(scaling_write(&s, out, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
}

UNIT_SUITE("common.scaling.scaling_report", UNIT(three_files_are_written),
           UNIT(what_was_measured_is_written), UNIT(a_stop_is_told_and_keeps_the_report),
           UNIT(no_size_at_all_is_an_error))
