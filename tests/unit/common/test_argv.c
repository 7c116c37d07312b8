#include "common/argv.h"
#include "tests/support/unit.h"

#include <string.h>

static void items_end_with_null(void) {
    cleanup_argv struct argv a = {0};
    for (int i = 0; i < 100; i++)
        CU_ASSERT_EQUAL_FATAL(argv_printf(&a, NULL, "word %d", i), 0);
    CU_ASSERT_EQUAL(a.count, 100);
    CU_ASSERT_PTR_NULL(a.items[100]);
    CU_ASSERT_STRING_EQUAL(a.items[99], "word 99");
}

static void add_all_takes_every_string_as_it_is(void) {
    cleanup_argv struct argv a = {0};
    const char *const words[] = {"$(id)", "a b", "", "'\"", NULL};
    CU_ASSERT_EQUAL(argv_add_all(&a, words, NULL), 0);
    CU_ASSERT_EQUAL(a.count, 4);
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT_STRING_EQUAL(a.items[i], words[i]);
}

static void an_environment_holds_a_name_once(void) {
    cleanup_argv struct argv a = {0};
    CU_ASSERT_EQUAL(argv_set_env(&a, "PATH", "/bin", NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(&a, "PATHS", "x", NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(&a, "PATH", "/usr/bin", NULL), 0);
    CU_ASSERT_EQUAL(a.count, 2);
    CU_ASSERT_STRING_EQUAL(argv_get_env(&a, "PATH"), "/usr/bin");
    argv_unset_env(&a, "PATH");
    CU_ASSERT_PTR_NULL(argv_get_env(&a, "PATH"));
    CU_ASSERT_STRING_EQUAL(argv_get_env(&a, "PATHS"), "x");
    CU_ASSERT_PTR_NULL(a.items[1]);
    argv_unset_env(&a, "NEVER");
}

static void names_are_compared_whole(void) {
    char longer[] = "PATHS=1", before[] = "HOME=3", after[] = "TEXT=4", path[] = "PATH=2";
    char *list[] = {longer, before, after, path, NULL};
    CU_ASSERT_STRING_EQUAL(env_get(list, "PATH"), "2");
    CU_ASSERT_PTR_NULL(env_get(list, "PAT"));
    CU_ASSERT_PTR_NULL(env_get(list + 4, "PATH"));
}

static void the_ceiling_is_an_error(void) {
    cleanup_argv struct argv a = {0};
    for (int i = 0; i < ARGV_MAX; i++)
        CU_ASSERT_EQUAL_FATAL(argv_add(&a, "x", NULL), 0);
    struct error err = {0};
    CU_ASSERT_EQUAL(argv_add(&a, "x", &err), -1);
    ASSERT_CONTAINS(err.text, "65536 arguments or environment variables");
    CU_ASSERT_EQUAL(a.count, ARGV_MAX);
}

UNIT_SUITE("common.argv", UNIT(items_end_with_null), UNIT(add_all_takes_every_string_as_it_is),
           UNIT(an_environment_holds_a_name_once), UNIT(names_are_compared_whole),
           UNIT(the_ceiling_is_an_error))
