#include "entrypoint/host/provision/fetch_progress.h"

#include "common/json/json.h"
#include "tests/support/unit.h"

#include <string.h>

static void steps_are_counted_and_the_last_one_is_reported(void) {
    struct fetch_progress m = {0};
    fetch_progress_step(&m, "train: 1 of 2\n", 14);
    fetch_progress_step(&m, "train: 2 of 2", 13);
    CU_ASSERT_EQUAL(m.count, 2);
    CU_ASSERT_STRING_EQUAL(m.text, "train: 2 of 2");
}

static void a_long_line_is_cut_between_characters(void) {
    struct fetch_progress m = {0};
    char line[FETCH_PROGRESS_TEXT_SIZE + 8];
    memset(line, 'x', sizeof(line));
    memcpy(line + FETCH_PROGRESS_TEXT_SIZE - 2, "ä", 2); /* its second byte has no room */
    fetch_progress_step(&m, line, sizeof(line));
    CU_ASSERT_EQUAL(strlen(m.text), FETCH_PROGRESS_TEXT_SIZE - 2);
    CU_ASSERT_EQUAL(strspn(m.text, "x"), FETCH_PROGRESS_TEXT_SIZE - 2);
}

static void a_message_brings_it_over(void) {
    struct fetch_progress m = {0};
    struct fetch_progress heard = {.count = 9};
    fetch_progress_step(&m, "käse", 5);
    cleanup_json json_t *message = json_object();
    fetch_progress_put(&m, message);
    fetch_progress_parse(message, &heard);
    CU_ASSERT_EQUAL(heard.count, 1);
    CU_ASSERT_STRING_EQUAL(heard.text, "käse");
}

static void what_is_impossible_is_nothing(void) {
    struct fetch_progress heard = {.count = 9, .text = "old"};
    cleanup_json json_t *message = json_pack("{s:i, s:[]}", "marks", -3, "text");
    fetch_progress_parse(message, &heard);
    CU_ASSERT_EQUAL(heard.count, 0);
    CU_ASSERT_STRING_EQUAL(heard.text, "");
}

UNIT_SUITE("host.fetch_progress", UNIT(steps_are_counted_and_the_last_one_is_reported),
           UNIT(a_long_line_is_cut_between_characters), UNIT(a_message_brings_it_over),
           UNIT(what_is_impossible_is_nothing))
