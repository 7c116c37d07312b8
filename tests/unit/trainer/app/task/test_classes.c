#include "tests/support/unit.h"
#include "trainer/app/task/classes.h"

#include <stdio.h>
#include <string.h>

static char cat[] = "cat";
static char dog[] = "dog";
static char emu[] = "emu";

static void the_same_classes_have_the_same_numbers(void) {
    char *names[] = {cat, dog};
    struct classes a = {names, 2, "here"}, b = {names, 2, "there"};
    int32_t map[2] = {-1, -1};
    char text[64];
    CU_ASSERT_EQUAL(classes_map(&a, &b, map, NULL), 0);
    CU_ASSERT(map[0] == 0 && map[1] == 1);
    CU_ASSERT_EQUAL(classes_missing(&a, &b, text, sizeof(text)), 0);
    CU_ASSERT_STRING_EQUAL(text, "");
}

/* Names count, not places. */
static void other_orders_and_parts_are_brought_into_place(void) {
    char *part[] = {dog, emu};
    char *all[] = {emu, cat, dog};
    struct classes a = {part, 2, "here"}, b = {all, 3, "there"};
    int32_t map[2] = {-1, -1};
    char text[64];
    CU_ASSERT_EQUAL(classes_map(&a, &b, map, NULL), 0);
    CU_ASSERT(map[0] == 2 && map[1] == 0);
    CU_ASSERT_EQUAL(classes_missing(&a, &b, text, sizeof(text)), 1);
    CU_ASSERT_STRING_EQUAL(text, "'cat'");
}

static void a_class_that_is_not_there_is_named_with_its_places(void) {
    char *one[] = {cat, emu};
    char *two[] = {cat, dog};
    struct classes a = {one, 2, "here"}, b = {two, 2, "there"};
    int32_t map[2];
    struct error err = {0};
    CU_ASSERT_EQUAL(classes_map(&a, &b, map, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    CU_ASSERT_STRING_EQUAL(err.text,
                           "class 'emu' of here is not a class of there, which has 2 ('cat', ...)");
    b.count = 1;
    CU_ASSERT_EQUAL(classes_map(&a, &b, map, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text,
                           "class 'emu' of here is not a class of there, which has 1 ('cat')");
}

static void many_missing_classes_are_cut_short(void) {
    char names[8][2] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    char *all[8];
    for (int i = 0; i < 8; i++)
        all[i] = names[i];
    struct classes a = {all + 1, 1, "here"}, b = {all, 8, "there"};
    char text[64], little[8];
    CU_ASSERT_EQUAL(classes_missing(&a, &b, text, sizeof(text)), 7);
    CU_ASSERT_STRING_EQUAL(text, "'a', 'c', 'd', 'e', 'f', ...");
    CU_ASSERT_EQUAL(classes_missing(&a, &b, little, sizeof(little)), 7);
    CU_ASSERT_EQUAL(strlen(little), 7);
}

UNIT_SUITE("app.classes", UNIT(the_same_classes_have_the_same_numbers),
           UNIT(other_orders_and_parts_are_brought_into_place),
           UNIT(a_class_that_is_not_there_is_named_with_its_places),
           UNIT(many_missing_classes_are_cut_short))
