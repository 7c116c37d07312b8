#include "common/json/json.h"
#include "common/text/redact.h"
#include "entrypoint/outcome/event_schema.h"
#include "tests/support/paper.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static const struct event_schema_stamp stamp = {.time = INT64_C(1763689384567) * 1000000,
                                                .boot = INT64_C(12345678901),
                                                .host = "algo-1",
                                                .job = "j",
                                                .run = "0123456789abcdef",
                                                .attempt = 2};

static void a_record_is_one_line_of_json(void) {
    cleanup_buf struct buf line;
    cleanup_json json_t *members = json_pack("{s:i, s:i}", "ranks", 8, "hosts", 2);
    buf_init(&line, EVENT_SCHEMA_LINE_MAX);
    CU_ASSERT_EQUAL(event_schema_line(EVENT_LOG_ATTEMPT, &stamp, members, &line, NULL), 0);
    CU_ASSERT_STRING_EQUAL(
        buf_text(&line),
        "{\"v\":1,\"time\":\"2025-11-21T01:43:04.567Z\",\"boot\":12.345,\"host\":\"algo-1\","
        "\"job\":\"j\",\"run\":\"0123456789abcdef\",\"attempt\":2,\"event\":\"attempt\","
        "\"ranks\":8,\"hosts\":2}\n");
}

/* The fields that every reader relies on cannot be replaced. */
static void members_do_not_replace_the_stamp(void) {
    cleanup_buf struct buf line;
    cleanup_json json_t *members = json_pack("{s:s, s:s}", "host", "evil", "event", "verdict");
    buf_init(&line, EVENT_SCHEMA_LINE_MAX);
    CU_ASSERT_EQUAL(event_schema_line(EVENT_LOG_SAID, &stamp, members, &line, NULL), 0);
    ASSERT_CONTAINS(buf_text(&line), "\"host\":\"algo-1\"");
    ASSERT_CONTAINS(buf_text(&line), "\"event\":\"said\"");
    CU_ASSERT_PTR_NULL(strstr(buf_text(&line), "evil"));
}

static void assert_text(const char *text, const char *expected) {
    cleanup_json json_t *value = event_schema_text(text);
    CU_ASSERT_FATAL(json_is_string(value));
    CU_ASSERT_STRING_EQUAL(json_string_value(value), expected);
}

static void texts_are_safe_whatever_they_hold(void) {
    static char longest[100000];
    assert_text("plain", "plain");
    assert_text("", "");
    assert_text("a\nb\rc\x1b[31m\x7f", "a?b?c?[31m?");
    assert_text("a\x83z\xff", "a\xef\xbf\xbdz\xef\xbf\xbd");
    CU_ASSERT_EQUAL(redact_add("hunter2hunter2", NULL), 0);
    assert_text("key=hunter2hunter2;", "key=***;");
    memset(longest, 'x', sizeof(longest) - 1);
    memcpy(longest + sizeof(longest) - 20, "hunter2hunter2", 14);
    cleanup_json json_t *value = event_schema_text(longest);
    CU_ASSERT_EQUAL(json_string_length(value), EVENT_SCHEMA_TEXT_MAX);
    for (size_t i = 0; i + 4 < sizeof(longest); i += 4)
        memcpy(longest + i, "\xf0\x9f\x92\xa9", 4);
    cleanup_json json_t *wide = event_schema_text(longest);
    CU_ASSERT_EQUAL(json_string_length(wide), EVENT_SCHEMA_TEXT_MAX);
    redact_done();
}

static void what_would_be_too_long_is_no_record(void) {
    static char text[EVENT_SCHEMA_LINE_MAX];
    struct error err = {0};
    cleanup_buf struct buf line;
    buf_init(&line, 2 * EVENT_SCHEMA_LINE_MAX);
    memset(text, 'x', sizeof(text) - 1);
    cleanup_json json_t *members = json_pack("{s:s}", "text", text);
    CU_ASSERT_EQUAL(event_schema_line(EVENT_LOG_SAID, &stamp, members, &line, &err), -1);
    CU_ASSERT_EQUAL(line.size, 0);
}

static void every_kind_has_a_name_of_its_own(void) {
    for (unsigned i = 0; i < EVENT_LOG_KINDS; i++) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(event_schema_row(i)->name);
        CU_ASSERT(event_schema_row(i)->what != NULL && event_schema_row(i)->members[0] != NULL);
        for (unsigned k = i + 1; k < EVENT_LOG_KINDS; k++)
            CU_ASSERT_STRING_NOT_EQUAL(event_schema_row(i)->name, event_schema_row(k)->name);
    }
}

static void the_page_is_this_table(void) {
    assert_paper_has("docs/reference/events.md", "events", event_schema_page);
}

UNIT_SUITE("outcome.event_schema", UNIT(a_record_is_one_line_of_json),
           UNIT(members_do_not_replace_the_stamp), UNIT(texts_are_safe_whatever_they_hold),
           UNIT(what_would_be_too_long_is_no_record), UNIT(every_kind_has_a_name_of_its_own),
           UNIT(the_page_is_this_table))
