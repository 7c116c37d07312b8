#include "common/json/json.h"
#include "entrypoint/job/sagemaker/python_repr.h"
#include "tests/support/unit.h"

#include <string.h>

/* What Python 3.11 prints for str() of the value at its left. */
static void values_look_as_in_python(void) {
    static const char *const cases[][2] = {
        {"true", "True"},
        {"[false]", "[False]"},
        {"null", ""},
        {"[null]", "[None]"},
        {"7", "7"},
        {"-7", "-7"},
        {"9223372036854775807", "9223372036854775807"},
        {"1e-5", "1e-05"},
        {"0.0001", "0.0001"},
        {"-0.00012345", "-0.00012345"},
        {"1E5", "100000.0"},
        {"123456.75", "123456.75"},
        {"4.0", "4.0"},
        {"1.10", "1.1"},
        {"0.0", "0.0"},
        {"-0.0", "-0.0"},
        {"0.1", "0.1"},
        {"0.30000000000000004", "0.30000000000000004"},
        {"1e15", "1000000000000000.0"},
        {"9999999999999998.0", "9999999999999998.0"},
        {"1e16", "1e+16"},
        {"1.5e300", "1.5e+300"},
        {"5e-324", "5e-324"},
        {"1.7976931348623157e308", "1.7976931348623157e+308"},
        {"\"it's\"", "it's"},
        {"[1, 2, \"x\"]", "[1, 2, 'x']"},
        {"[\"it's\"]", "[\"it's\"]"},
        {"[\"it's \\\"so\\\"\"]", "['it\\'s \"so\"']"},
        {"[\"a\\nb\\t\\\\ \\u0001\\u007f\"]", "['a\\nb\\t\\\\ \\x01\\x7f']"},
        {"[\"\\u00e9\"]", "['\xc3\xa9']"},
        {"[]", "[]"},
        {"[{}]", "[{}]"},
        {"{}", ""},
        {"{\"b\":1,\"a\":[true,null]}", "a=[True, None],b=1"},
        {"{\"b\":{\"z\":1.5,\"y\":\"q\"},\"a\":\"t\"}", "a='t',b={'z': 1.5, 'y': 'q'}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_buf struct buf text;
        cleanup_json json_t *value = json_loads(cases[i][0], JSON_DECODE_ANY, NULL);
        buf_init(&text, 1024);
        CU_ASSERT_PTR_NOT_NULL_FATAL(value);
        CU_ASSERT_EQUAL(python_repr_add(value, &text, NULL), 0);
        CU_ASSERT_STRING_EQUAL(buf_text(&text), cases[i][1]);
    }
}

static void a_text_without_room_is_an_error(void) {
    cleanup_json json_t *value = json_loads("[\"long enough\"]", 0, NULL);
    for (size_t room = 0; room <= strlen("['long enough']"); room++) {
        cleanup_buf struct buf text;
        struct error err = {0};
        buf_init(&text, room);
        int result = python_repr_add(value, &text, &err);
        CU_ASSERT_EQUAL(result, room == strlen("['long enough']") ? 0 : -1);
    }
}

UNIT_SUITE("job.python_repr", UNIT(values_look_as_in_python), UNIT(a_text_without_room_is_an_error))
