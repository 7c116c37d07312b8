#include "entrypoint/host/ranks/rank_exception.h"

#include "common/clock.h"
#include "entrypoint/host/ranks/rank_set.h"
#include "entrypoint/host/ranks/rank_slot.h"
#include "tests/support/held_clock.h"
#include "tests/support/unit.h"

#include <string.h>

static const struct traceback_folders folders;

static void print(struct rank_exception *e, bool error_out, const char *lines) {
    for (const char *line = lines; *line != '\0'; line += strcspn(line, "\n") + 1)
        rank_exception_take(e, error_out, line, strcspn(line, "\n") + 1);
}

static const char of_main[] = "Traceback (most recent call last):\n"
                              "  File \"train.py\", line 3, in f\nKeyError: 7\n";

static void standard_error_counts_more(void) {
    struct rank_exception e;
    char text[TRACEBACK_TEXT_SIZE] = "left";
    rank_exception_init(&e, &folders);
    CU_ASSERT_FALSE(rank_exception_text(&e, text));
    CU_ASSERT_STRING_EQUAL(text, "");
    print(
        &e, false,
        "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nValueError: logged\n");
    CU_ASSERT(rank_exception_text(&e, text));
    CU_ASSERT_STRING_EQUAL(text, "ValueError: logged (a.py, line 1)");
    print(&e, true, of_main);
    CU_ASSERT(rank_exception_text(&e, text));
    CU_ASSERT_STRING_EQUAL(text, "KeyError: 7 (train.py, line 3)");
}

static void an_exception_after_which_nothing_came_is_the_last(void) {
    struct rank_exception e;
    char text[TRACEBACK_TEXT_SIZE];
    rank_exception_init(&e, &folders);
    CU_ASSERT_FALSE(rank_exception_is_last(&e, text));
    print(&e, false, of_main);
    print(&e, true, "of another stream\n");
    CU_ASSERT(rank_exception_is_last(&e, text));
    CU_ASSERT_STRING_EQUAL(text, "KeyError: 7 (train.py, line 3)");
    print(&e, false, "it goes on\n");
    CU_ASSERT_FALSE(rank_exception_is_last(&e, text));
    CU_ASSERT_STRING_EQUAL(text, "");
    rank_exception_init(&e, &folders);
    print(&e, true, "Exception in thread T:\n");
    print(&e, true, of_main);
    CU_ASSERT_FALSE(rank_exception_is_last(&e, text)); /* which ends no program */
}

static void a_rank_that_does_not_end_after_it_is_known(void) {
    struct rank_slot slots[2] = {{.rank = 4, .next = &slots[1]}, {.rank = 5}};
    struct rank_set ranks = {.slots = slots};
    char text[TRACEBACK_TEXT_SIZE];
    held_clock_begin();
    rank_exception_init(&slots[0].exception, &folders);
    rank_exception_init(&slots[1].exception, &folders);
    print(&slots[1].exception, true, of_main);
    const int64_t now = clock_now();
    CU_ASSERT_EQUAL(rank_set_exception(&ranks, 5, now, text), 0); /* it may be about to end */
    const int64_t later = now + RANK_EXCEPTION_LASTS_NS;
    CU_ASSERT_EQUAL(rank_set_exception(&ranks, 5, later, text), RANK_EXCEPTION_LASTS_NS);
    CU_ASSERT_STRING_EQUAL(text, "KeyError: 7 (train.py, line 3)");
    CU_ASSERT_EQUAL(rank_set_exception(&ranks, 4, later, text), 0);
    CU_ASSERT_EQUAL(rank_set_exception(&ranks, 6, later, text), 0);
    slots[1].reported = true;
    CU_ASSERT_EQUAL(rank_set_exception(&ranks, 5, later, text), 0);
    CU_ASSERT_STRING_EQUAL(text, "");
    held_clock_end();
}

UNIT_SUITE("host.rank_exception", UNIT(standard_error_counts_more),
           UNIT(an_exception_after_which_nothing_came_is_the_last),
           UNIT(a_rank_that_does_not_end_after_it_is_known))
