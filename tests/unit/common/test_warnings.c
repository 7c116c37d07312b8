#include "common/warnings.h"

#include "tests/support/unit.h"

#include <string.h>

static void a_line_is_kept_and_cut_at_its_size(void) {
    struct warnings w = {0};
    char longest[2 * WARNING_SIZE];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    warnings_add(&w, "%s is ignored", "this");
    warnings_add(&w, "%s", longest);
    CU_ASSERT_EQUAL(w.count, 2);
    CU_ASSERT_STRING_EQUAL(w.text[0], "this is ignored");
    CU_ASSERT_EQUAL(strlen(w.text[1]), WARNING_SIZE - 1);
}

static void lines_above_the_ceiling_are_counted_alone(void) {
    struct warnings w = {0};
    for (int i = 0; i < WARNINGS_MAX + 3; i++)
        warnings_add(&w, "line %d", i);
    CU_ASSERT_EQUAL(w.count, WARNINGS_MAX);
    CU_ASSERT_EQUAL(w.dropped, 3);
    CU_ASSERT_STRING_EQUAL(w.text[WARNINGS_MAX - 1], "line 7");
    warnings_add(NULL, "nobody listens");
}

static void lists_are_joined_in_their_order(void) {
    struct warnings w = {0}, more = {0};
    warnings_add(&w, "first");
    for (int i = 0; i < WARNINGS_MAX + 1; i++)
        warnings_add(&more, "line %d of 100%%", i);
    warnings_join(&w, &more);
    CU_ASSERT_STRING_EQUAL(w.text[0], "first");
    CU_ASSERT_STRING_EQUAL(w.text[1], "line 0 of 100%");
    CU_ASSERT_EQUAL(w.count, WARNINGS_MAX);
    CU_ASSERT_EQUAL(w.dropped, 2); /* its last line has no room here, and it had dropped one */
}

UNIT_SUITE("job.warnings", UNIT(a_line_is_kept_and_cut_at_its_size),
           UNIT(lines_above_the_ceiling_are_counted_alone), UNIT(lists_are_joined_in_their_order))
