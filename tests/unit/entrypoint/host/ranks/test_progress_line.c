#include "entrypoint/host/ranks/progress_line.h"

#include "common/clock.h"
#include "tests/support/unit.h"

#include <string.h>

static char text[STATUS_LINE_MAX];
static double fraction;

static void at(struct progress_pace *pace, uint64_t step, uint64_t total, int64_t seconds) {
    const struct progress_state state = {.marks = step + 1, .step = step, .total = total};
    progress_line_text(pace, &state, 3, seconds * CLOCK_SECOND, text, &fraction);
}

static void without_a_mark_there_is_no_line(void) {
    struct progress_pace pace = {0};
    const struct progress_state none = {.total = 10};
    memset(text, 'x', sizeof(text));
    progress_line_text(&pace, &none, 3, CLOCK_SECOND, text, &fraction);
    CU_ASSERT_STRING_EQUAL(text, "");
    CU_ASSERT_EQUAL(fraction, -1);
}

/* The pace is measured from the first mark on; the time before it, such as startup, does not
 * count. */
static void the_rest_takes_as_long_as_the_steps_so_far(void) {
    struct progress_pace pace = {0};
    at(&pace, 2, 102, 50);
    CU_ASSERT_STRING_EQUAL(text, "step 2/102  3 ranks");
    at(&pace, 22, 102, 60);
    CU_ASSERT_STRING_EQUAL(text, "step 22/102  3 ranks  0:40 left");
    CU_ASSERT_DOUBLE_EQUAL(fraction, 22.0 / 102, 1e-12);
    at(&pace, 102, 102, 100);
    CU_ASSERT_STRING_EQUAL(text, "step 102/102  3 ranks");
    CU_ASSERT_EQUAL(fraction, 1);
}

static void a_program_may_not_know_its_end(void) {
    struct progress_pace pace = {0};
    at(&pace, 1, 0, 1);
    at(&pace, 7, 0, 2);
    CU_ASSERT_STRING_EQUAL(text, "step 7  3 ranks");
    CU_ASSERT_EQUAL(fraction, -1);
}

static void an_attempt_that_goes_back_begins_anew(void) {
    struct progress_pace pace = {0};
    at(&pace, 1, 100, 10);
    at(&pace, 50, 100, 20);
    at(&pace, 40, 100, 100);
    CU_ASSERT_STRING_EQUAL(text, "step 40/100  3 ranks");
    at(&pace, 50, 100, 120);
    CU_ASSERT_STRING_EQUAL(text, "step 50/100  3 ranks  1:40 left");
}

static void one_rank_is_one(void) {
    struct progress_pace pace = {0};
    const struct progress_state state = {.marks = 1, .step = 1};
    progress_line_text(&pace, &state, 1, CLOCK_SECOND, text, &fraction);
    CU_ASSERT_STRING_EQUAL(text, "step 1  1 rank");
}

UNIT_SUITE("host.progress_line", UNIT(without_a_mark_there_is_no_line),
           UNIT(the_rest_takes_as_long_as_the_steps_so_far), UNIT(a_program_may_not_know_its_end),
           UNIT(an_attempt_that_goes_back_begins_anew), UNIT(one_rank_is_one))
