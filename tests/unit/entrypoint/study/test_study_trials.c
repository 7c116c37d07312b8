#include "entrypoint/study/study_trials.h"

#include "tests/support/alone_group.h"
#include "tests/unit/entrypoint/study/folder.h"

static struct error err;
static char out[FOLDER_PATH];

/* Trials of a shell that notes its words, and prints the first one's value unless it is "no". */
static int run(const char *plan) {
    static const char script[] = "echo $* rank $RANK of $WORLD_SIZE >{dir}/words; "
                                 "[ $1 != --do=no ] && echo a: ${1#--do=}";
    char path[2 * FOLDER_PATH];
    const struct slot_group group = alone_group();
    struct study_words w;
    folder_put(out, "plan.json", plan, path);
    const char *const words[] = {path, "--out", out,    "--then-best", "--",
                                 "sh", "-c",    script, "program",     NULL};
    err = (struct error){0};
    CU_ASSERT_EQUAL_FATAL(study_words_read(STUDY_TRIALS, words, &w, &err), 0);
    return study_trials(&w, &group, &err);
}

static void a_program_is_tried_with_its_flags(void) {
    folder_make(out);
    CU_ASSERT_EQUAL(run("{\"grid\": {\"do\": [1, 3, \"no\"]}, \"metric\": \"a\", \"seeds\": [5], "
                        "\"halving\": {\"flag\": \"n\", \"rungs\": [7, 8], \"factor\": 2}}"),
                    0);
    CU_ASSERT_TRUE(
        folder_has(out, "trial-0/rung-0-seed-0/words", "--do=1 --n=7 --seed=5 rank 0 of 1"));
    CU_ASSERT_TRUE(
        folder_has(out, "trial-1/rung-1-seed-0/words", "--do=3 --n=8 --seed=5 rank 0 of 1"));
    CU_ASSERT_TRUE(folder_has(out, "best/words", "--do=3 --n=8 rank 0 of 1"));
    CU_ASSERT_TRUE(
        folder_has(out, "trials.txt", "3 configurations, 3 trials done, 1 failed; the largest a"));
}

static void a_plan_that_is_wrong_is_told(void) {
    folder_make(out);
    CU_ASSERT_EQUAL(run("{\"grid\": {\"do\": []}, \"metric\": \"a\"}"), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "plan.json"));
}

UNIT_SUITE("study.study_trials", UNIT(a_program_is_tried_with_its_flags),
           UNIT(a_plan_that_is_wrong_is_told))
