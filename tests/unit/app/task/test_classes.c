#include "support/unit.h"
#include "task/classes.h"

static char cat[] = "cat";
static char dog[] = "dog";
static char emu[] = "emu";

static void the_same_names_in_the_same_order_agree(void) {
    char *one[] = {cat, dog};
    char *two[] = {cat, dog};
    struct classes a = {one, 2, "here"};
    struct classes b = {two, 2, "there"};
    CU_ASSERT_EQUAL(classes_agree(&a, &b, NULL), 0);
}

static void the_first_other_name_is_told_with_its_places(void) {
    char *one[] = {cat, dog};
    char *two[] = {cat, emu};
    struct classes a = {one, 2, "here"};
    struct classes b = {two, 2, "there"};
    struct error err = {0};
    CU_ASSERT_EQUAL(classes_agree(&a, &b, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    CU_ASSERT_STRING_EQUAL(err.text, "class 1 is 'dog' in here and 'emu' in there");
}

/* Whichever comes first in the alphabet, and at the first place as well. */
static void names_in_another_order_do_not_agree(void) {
    char *one[] = {cat, dog};
    char *two[] = {dog, cat};
    struct classes a = {one, 2, "here"};
    struct classes b = {two, 2, "there"};
    struct error err = {0};
    CU_ASSERT_EQUAL(classes_agree(&a, &b, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "class 0 is 'cat' in here and 'dog' in there");
    CU_ASSERT_EQUAL(classes_agree(&b, &a, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "class 0 is 'dog' in there and 'cat' in here");
}

static void a_missing_class_is_an_error_too(void) {
    char *one[] = {cat, dog};
    struct classes a = {one, 2, "here"};
    struct classes b = {one, 1, "there"};
    struct error err = {0};
    CU_ASSERT_EQUAL(classes_agree(&a, &b, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "here has 2 classes, there has 1");
    CU_ASSERT_EQUAL(classes_agree(&b, &a, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "there has 1 classes, here has 2");
}

UNIT_MAIN("app.classes", UNIT(the_same_names_in_the_same_order_agree),
          UNIT(the_first_other_name_is_told_with_its_places),
          UNIT(names_in_another_order_do_not_agree), UNIT(a_missing_class_is_an_error_too))
