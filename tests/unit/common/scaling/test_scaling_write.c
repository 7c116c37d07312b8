#include "common/scaling/scaling_page.h"
#include "tests/unit/common/scaling/study.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void three_files_are_written(void) {
    static const char *const names[] = {SCALING_TEXT_NAME, SCALING_CSV_NAME, SCALING_HTML_NAME};
    char folder[] = "/tmp/scaling-XXXXXX", path[64];
    struct scaling_study s;
    struct error err = {0};
    struct stat about;
    fill(&s);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    CU_ASSERT_EQUAL(scaling_write(&s, folder, &err), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        CU_ASSERT_EQUAL(stat(path, &about), 0);
        CU_ASSERT(about.st_size > 100);
        (void)unlink(path);
    }
    (void)rmdir(folder);
    CU_ASSERT_EQUAL(scaling_write(&s, folder, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
}

UNIT_SUITE("common.scaling.scaling_write", UNIT(three_files_are_written))
