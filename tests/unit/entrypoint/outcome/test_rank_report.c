#include "common/json/json.h"
#include "entrypoint/outcome/rank_report.h"
#include "tests/support/unit.h"

#include <string.h>

static struct rank_report sample(void) {
    struct rank_report r = {.rank = 5,
                            .host = 2,
                            .end = RANK_SIGNALLED,
                            .value = 11,
                            .cause = RANK_CAUSE_TEARDOWN,
                            .memory = RANK_MEMORY_KILLED,
                            .time = INT64_C(1700000000123456789),
                            .raised = INT64_C(1700000000000000000)};
    rank_report_set_lines(&r, "one\ntwo\n", 8);
    rank_report_clean("kernel: a\x83\nkernel: b", r.evidence, sizeof(r.evidence));
    r.step = 77;
    return r;
}

static void a_report_survives_its_frame(void) {
    struct rank_report r = sample(), back;
    cleanup_json json_t *object = rank_report_json(&r);
    CU_ASSERT_EQUAL(rank_report_parse(object, 6, 3, &back, NULL), 0);
    CU_ASSERT(back.rank == 5 && back.host == 2 && back.end == RANK_SIGNALLED && back.value == 11);
    CU_ASSERT(back.cause == RANK_CAUSE_TEARDOWN && back.time == r.time);
    CU_ASSERT_EQUAL(back.raised, r.raised);
    CU_ASSERT_EQUAL(back.memory, RANK_MEMORY_KILLED);
    CU_ASSERT_STRING_EQUAL(back.lines, "one\ntwo");
    CU_ASSERT_STRING_EQUAL(back.evidence, "kernel: a\xef\xbf\xbd\nkernel: b");
    CU_ASSERT_EQUAL(back.step, 77);
    json_object_del(object, "memory"); /* only the supervisor knows */
    json_object_del(object, "raised");
    CU_ASSERT_EQUAL(rank_report_parse(object, 6, 3, &back, NULL), 0);
    CU_ASSERT_EQUAL(back.memory, RANK_MEMORY_UNKNOWN);
    CU_ASSERT_EQUAL(back.raised, 0);
}

static void what_a_peer_gets_wrong_is_refused(void) {
    static const struct {
        const char *key;
        json_int_t number; /* -99: remove the key; -98: put a string there */
    } wrong[] = {{"rank", 6},     {"rank", -1},   {"rank", -99},  {"rank", -98},   {"host", 3},
                 {"host", -99},   {"value", 256}, {"value", 65},  {"value", 0},    {"value", -99},
                 {"time", -5},    {"time", -99},  {"raised", -5}, {"raised", -98}, {"end", -99},
                 {"end", -98},    {"end", 1},     {"cause", -98}, {"cause", -99},  {"lines", 7},
                 {"memory", -98}, {"memory", 1}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct rank_report r = sample(), back;
        struct error err = {0};
        cleanup_json json_t *object = rank_report_json(&r);
        json_object_del(object, wrong[i].key);
        if (wrong[i].number == -98)
            json_object_set_new(object, wrong[i].key, json_string("odd"));
        else if (wrong[i].number != -99)
            json_object_set_new(object, wrong[i].key, json_integer(wrong[i].number));
        CU_ASSERT_EQUAL(rank_report_parse(object, 6, 3, &back, &err), -1);
        CU_ASSERT_STRING_NOT_EQUAL(err.text, "");
    }
    struct rank_report back;
    CU_ASSERT_EQUAL(rank_report_parse(NULL, 6, 3, &back, NULL), -1);
}

static void lines_are_made_valid(void) {
    struct rank_report r = {0};
    static const char bytes[] = "\n\na\x83z\r\n\xe2\x82\xac\x1b[1m\n\nlast\0";
    rank_report_set_lines(&r, bytes, sizeof(bytes) - 1);
    CU_ASSERT_STRING_EQUAL(r.lines, "a\xef\xbf\xbdz\n\xe2\x82\xac?[1m\nlast?");
    rank_report_set_lines(&r, "", 0);
    CU_ASSERT_STRING_EQUAL(r.lines, "");
}

static void the_end_of_much_is_kept(void) {
    static char bytes[100000];
    struct rank_report r = {0};
    memset(bytes, 0x83, sizeof(bytes)); /* three times as long when replaced */
    memcpy(bytes + sizeof(bytes) - 4, "end\n", 4);
    rank_report_set_lines(&r, bytes, sizeof(bytes));
    size_t size = strlen(r.lines);
    CU_ASSERT(size > RANK_REPORT_LINES_SIZE - 5 && size < RANK_REPORT_LINES_SIZE);
    CU_ASSERT_STRING_EQUAL(r.lines + size - 3, "end");
    CU_ASSERT_EQUAL(memcmp(r.lines, "\xef\xbf\xbd", 3), 0);
    cleanup_json json_t *text = json_string(r.lines);
    CU_ASSERT_PTR_NOT_NULL(text);
}

UNIT_SUITE("outcome.rank_report", UNIT(a_report_survives_its_frame),
           UNIT(what_a_peer_gets_wrong_is_refused), UNIT(lines_are_made_valid),
           UNIT(the_end_of_much_is_kept))
