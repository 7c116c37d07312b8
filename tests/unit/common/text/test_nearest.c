#include "common/text/nearest.h"
#include "tests/support/unit.h"

#include <string.h>

static const char *const names[] = {"train",         "check",         "plan",         "version",
                                    "STALL_SECONDS", "STALL_LEARNED", "IDLE_SECONDS", "batch-size",
                                    "bin",           "mine"};

static const char *find(const char *text) {
    struct nearest n = nearest_begin(text, strlen(text));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        nearest_try(&n, names[i]);
    return n.name != NULL ? n.name : "";
}

static void a_mistyped_name_is_found(void) {
    static const char *const rows[][2] = {{"trian", "train"},
                                          {"tran", "train"},
                                          {"chek", "check"},
                                          {"vers", "version"},
                                          {"STALL", "STALL_SECONDS"},
                                          {"idle_second", "IDLE_SECONDS"},
                                          {"batch_size", "batch-size"},
                                          {"Batch-Siez", "batch-size"},
                                          {"STALL_SECOND", "STALL_SECONDS"},
                                          {"min", "mine"}}; /* not bin: cut short */
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        CU_ASSERT_STRING_EQUAL(find(rows[i][0]), rows[i][1]);
}

static void what_is_like_none_is_none(void) {
    char longer[100];
    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    CU_ASSERT_STRING_EQUAL(find(""), "");
    CU_ASSERT_STRING_EQUAL(find("v"), "");
    CU_ASSERT_STRING_EQUAL(find("zzzzzz"), "");
    CU_ASSERT_STRING_EQUAL(find("learning-rate"), "");
    CU_ASSERT_STRING_EQUAL(find(longer), "");
    struct nearest n = nearest_begin(longer, NEAREST_SIZE_MAX);
    nearest_try(&n, longer); /* a name that is too long */
    CU_ASSERT_PTR_NULL(n.name);
    nearest_try(&n, longer + sizeof(longer) - 1 - NEAREST_SIZE_MAX);
    CU_ASSERT_PTR_NOT_NULL(n.name);
}

static void a_message_ends_with_it(void) {
    char text[NEAREST_WORDS_MAX];
    struct nearest n = nearest_begin("trian", 5);
    CU_ASSERT_STRING_EQUAL(nearest_words(&n, text), "");
    nearest_try(&n, "train");
    CU_ASSERT_STRING_EQUAL(nearest_words(&n, text), "; did you mean train?");
}

UNIT_SUITE("common.nearest", UNIT(a_message_ends_with_it), UNIT(a_mistyped_name_is_found),
           UNIT(what_is_like_none_is_none))
