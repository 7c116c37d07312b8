#include "entrypoint/study/study.h"

#include "tests/unit/entrypoint/study/folder.h"

static void the_only_rank_leads(void) {
    char out[FOLDER_PATH];
    struct error err = {0};
    folder_make(out);
    const char *const words[] = {"scaling", "--out", out,  "--metric",     "rate",
                                 "--",      "sh",    "-c", "echo rate: 4", NULL};
    (void)unsetenv("WORLD_SIZE");
    CU_ASSERT_EQUAL(study_run(words, &err), 0);
    CU_ASSERT_TRUE(folder_has(out, "scaling.csv", "measured,1,1,4,"));
}

static void it_is_not_for_people(void) {
    const char *const none[] = {NULL}, *const other[] = {"train", NULL},
                      *const bare[] = {"trials", NULL};
    struct error err = {0};
    CU_ASSERT_EQUAL(study_run(none, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    CU_ASSERT_EQUAL(study_run(other, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    CU_ASSERT_EQUAL(study_run(bare, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
}

UNIT_SUITE("study.study", UNIT(the_only_rank_leads), UNIT(it_is_not_for_people))
