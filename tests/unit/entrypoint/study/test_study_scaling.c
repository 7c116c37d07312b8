#include "entrypoint/study/study_scaling.h"

#include "tests/support/alone_group.h"
#include "tests/unit/entrypoint/study/folder.h"

static struct error err;
static char out[FOLDER_PATH];

static int run(const char *option, const char *value, const char *script) {
    const struct slot_group group = alone_group();
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

static void variants_are_compared(void) {
    const struct slot_group group = alone_group();
    struct study_words w;
    const char *const words[] = {"--out",
                                 out,
                                 "--metric=rate",
                                 "--variant",
                                 "plain=",
                                 "--variant=twice=RATE=6 {dir}",
                                 "--",
                                 "sh",
                                 "-c",
                                 "echo $0 $1 rate=${RATE:-3}; echo rate=${RATE:-3}",
                                 "words",
                                 NULL};
    folder_make(out);
    err = (struct error){0};
    CU_ASSERT_EQUAL_FATAL(study_words_read(STUDY_SCALING, words, &w, &err), 0);
    CU_ASSERT_EQUAL(study_scaling(&w, &group, &err), 0);
    CU_ASSERT_TRUE(folder_has(out, "scaling.csv", "measured,1,1,3,"));
    CU_ASSERT_TRUE(folder_has(out, "scaling.csv", ",\"plain\""));
    CU_ASSERT_TRUE(folder_has(out, "scaling.csv", "measured,1,1,6,"));
    CU_ASSERT_TRUE(folder_has(out, "scaling.txt", "; twice=RATE=6 {dir}"));
    CU_ASSERT_TRUE(folder_has(out, "scaling.html", "twice"));
    CU_ASSERT_TRUE(folder_has(out, "plain/ranks-1/rank-0.log", "words rate=3"));
    CU_ASSERT_TRUE(folder_has(out, "twice/ranks-1/rank-0.log", "/twice/ranks-1 rate=6"));
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
           UNIT(variants_are_compared), UNIT(what_is_wrong_is_told))
