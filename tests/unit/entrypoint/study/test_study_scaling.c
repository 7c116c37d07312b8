#include "entrypoint/study/study_scaling.h"

#include "tests/unit/entrypoint/study/folder.h"

static struct error err;
static char out[FOLDER_PATH];

static int run(const char *option, const char *value, const char *script) {
    const struct slot_group group = slot_group_alone();
    struct study_words w;
    const char *const words[] = {"--out", out,  "--metric", "rate", "--samples", "3600", option,
                                 value,   "--", "sh",       "-c",   script,      NULL};
    err = (struct error){0};
    CU_ASSERT_EQUAL_FATAL(study_words_read(STUDY_SCALING, words, &w, &err), 0);
    return study_scaling(&w, &group, &err);
}

static void a_program_is_measured_by_what_it_prints(void) {
    folder_make(out);
    CU_ASSERT_EQUAL(run("--unit", "it/s", "echo rate=9 rate=2; echo rate=2"), 0);
    CU_ASSERT_TRUE(folder_has(out, "scaling.csv", "measured,1,1,2,"));
    CU_ASSERT_TRUE(folder_has(out, "scaling.txt", "it/s"));
    CU_ASSERT_TRUE(folder_has(out, "scaling.txt", "30 min 00 s"));
}

static void what_is_wrong_is_told(void) {
    folder_make(out);
    CU_ASSERT_EQUAL(run("--ranks", "2", "exit 0"), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    CU_ASSERT_EQUAL(run("--project", "x", "exit 0"), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    CU_ASSERT_EQUAL(run("--prices", "/nonexistent", "exit 0"), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "--prices"));
    CU_ASSERT_EQUAL(run("--project", "none", "exit 0"), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "it printed no rate above 0"));
    CU_ASSERT_EQUAL(run("--limit", "1", "exec sleep 1000"), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "not done after 1 s"));
}

UNIT_SUITE("study.study_scaling", UNIT(a_program_is_measured_by_what_it_prints),
           UNIT(what_is_wrong_is_told))
