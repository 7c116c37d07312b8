#include "entrypoint/host/line_forward.h"

#include "common/cleanup.h"
#include "common/json/json.h"
#include "entrypoint/wire/frame.h"
#include "entrypoint/wire/link.h"
#include "tests/support/unit.h"

#include <string.h>

static json_t *told;
static size_t waiting;

static void send_message(void *context, json_t *message) {
    (void)context;
    (void)json_array_append_new(told, message);
}

static size_t queued(void *context) {
    (void)context;
    return waiting;
}

static struct line_forward forward;

static void begin(void) {
    json_decref(told);
    told = json_array();
    waiting = 0;
    forward = (struct line_forward){.send = send_message, .queued = queued};
}

static const char *text_of(size_t i) {
    return json_string_value(json_object_get(json_array_get(told, i), "text"));
}

static int64_t dropped_of(size_t i) {
    return json_integer_value(json_object_get(json_array_get(told, i), "dropped"));
}

static void a_line_is_one_message(void) {
    begin();
    line_forward(&forward, "one\n", 4);
    CU_ASSERT_EQUAL_FATAL(json_array_size(told), 1);
    CU_ASSERT_STRING_EQUAL(frame_type(json_array_get(told, 0)), "line");
    CU_ASSERT_STRING_EQUAL(text_of(0), "one\n");
    CU_ASSERT_PTR_NULL(json_object_get(json_array_get(told, 0), "dropped"));
}

/* Between two characters. */
static void a_long_line_is_reported_in_parts(void) {
    static char line[70 * 1024];
    size_t size = 0;
    begin();
    for (size_t i = 0; i + 2 <= sizeof(line) - 1; i += 2)
        memcpy(line + 1 + i, "\xc3\xa9", 2);
    line[0] = 'x';
    line[sizeof(line) - 1] = '\n';
    line_forward(&forward, line, sizeof(line));
    CU_ASSERT_EQUAL_FATAL(json_array_size(told), 3);
    for (size_t i = 0; i < 3; i++) {
        cleanup_free char *bytes = json_dumps(json_array_get(told, i), 0);
        CU_ASSERT(bytes != NULL && strlen(bytes) < FRAME_MAX);
        CU_ASSERT_EQUAL(memcmp(text_of(i), line + size, strlen(text_of(i))), 0);
        size += strlen(text_of(i));
    }
    CU_ASSERT_EQUAL(size, sizeof(line));
}

static void lines_are_dropped_while_much_waits_and_the_next_tells_how_many(void) {
    begin();
    waiting = LINK_QUEUE_MAX / 2 + 1;
    line_forward(&forward, "one\n", 4);
    line_forward(&forward, "two\n", 4);
    CU_ASSERT_EQUAL(json_array_size(told), 0);
    waiting--;
    line_forward(&forward, "six\n", 4);
    line_forward(&forward, "ten\n", 4);
    CU_ASSERT_EQUAL_FATAL(json_array_size(told), 2);
    CU_ASSERT_EQUAL(dropped_of(0), 2);
    CU_ASSERT_EQUAL(dropped_of(1), 0);
}

static void the_end_tells_of_those_that_are_left(void) {
    begin();
    line_forward_end(&forward);
    CU_ASSERT_EQUAL(json_array_size(told), 0);
    waiting = LINK_QUEUE_MAX;
    line_forward(&forward, "one\n", 4);
    line_forward_end(&forward);
    line_forward_end(&forward);
    CU_ASSERT_EQUAL_FATAL(json_array_size(told), 1);
    CU_ASSERT_EQUAL(dropped_of(0), 1);
    CU_ASSERT_STRING_EQUAL(text_of(0), "");
    json_decref(told);
    told = NULL;
}

UNIT_SUITE("host.line_forward", UNIT(a_line_is_one_message), UNIT(a_long_line_is_reported_in_parts),
           UNIT(lines_are_dropped_while_much_waits_and_the_next_tells_how_many),
           UNIT(the_end_tells_of_those_that_are_left))
