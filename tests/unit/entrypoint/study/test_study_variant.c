#include "entrypoint/study/study_variant.h"
#include "tests/support/unit.h"

#include <string.h>

static struct argv environment, words;
static struct error err;

static void split(const char *text) {
    argv_done(&environment);
    argv_done(&words);
    CU_ASSERT_EQUAL_FATAL(study_variant_words(text, &environment, &words, &err), 0);
}

static void variables_stand_before_words(void) {
    split("tree=NCCL_ALGO=Tree  X_2=  --batch=64\tlr=0.1 A=b ");
    CU_ASSERT_EQUAL_FATAL(environment.count, 2);
    CU_ASSERT_STRING_EQUAL(environment.items[0], "NCCL_ALGO=Tree");
    CU_ASSERT_STRING_EQUAL(environment.items[1], "X_2=");
    CU_ASSERT_EQUAL_FATAL(words.count, 3);
    CU_ASSERT_STRING_EQUAL(words.items[0], "--batch=64");
    CU_ASSERT_STRING_EQUAL(words.items[1], "lr=0.1");
    CU_ASSERT_STRING_EQUAL(words.items[2], "A=b");
    split("a=lr=0.1 X=1");
    CU_ASSERT_EQUAL(environment.count, 0);
    CU_ASSERT_EQUAL(words.count, 2);
    split("a=2X=1 =3");
    CU_ASSERT_EQUAL(environment.count, 0);
    split("plain=");
    CU_ASSERT_EQUAL(environment.count + words.count, 0);
    argv_done(&environment);
    argv_done(&words);
}

static void expect_refusal(struct scaling_names *names, const char *text, const char *why) {
    CU_ASSERT_EQUAL(study_variant_name(text, names, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, why);
}

static void each_has_a_name_of_its_own(void) {
    struct scaling_names names = {0};
    CU_ASSERT_EQUAL(study_variant_name("a=x", &names, &err), 0);
    CU_ASSERT_STRING_EQUAL(names.list[0], "a");
    expect_refusal(&names, "b", "is no NAME=WORDS");
    expect_refusal(&names, "=x", "is no name");
    expect_refusal(&names, "a=y", "--variant: a comes twice");
    CU_ASSERT_EQUAL(names.count, 1);
}

UNIT_SUITE("study.study_variant", UNIT(variables_stand_before_words),
           UNIT(each_has_a_name_of_its_own))
