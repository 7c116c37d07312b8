#include "entrypoint/job/sagemaker/metric_definitions.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void assert_list(const char *text, size_t count, size_t passed_over) {
    struct metric_definitions l;
    CU_ASSERT_EQUAL_FATAL(metric_definitions_parse(text, strlen(text), "m.json", &l, NULL), 0);
    CU_ASSERT_EQUAL(l.count, count);
    CU_ASSERT_EQUAL(l.passed_over, passed_over);
    if (count > 0) {
        CU_ASSERT_STRING_EQUAL(l.items[0].name, "train:loss");
        CU_ASSERT_STRING_EQUAL(l.items[0].regex, "loss=(.*)");
    }
    metric_definitions_done(&l);
}

static void every_form_that_may_come_is_read(void) {
    assert_list("[]", 0, 0);
    assert_list("{}", 0, 0);
    assert_list("[{\"Name\":\"train:loss\",\"Regex\":\"loss=(.*)\"}]", 1, 0);
    assert_list("[{\"name\":\"train:loss\",\"regex\":\"loss=(.*)\",\"x\":1}]", 1, 0);
    assert_list("{\"MetricDefinitions\":[{\"Name\":\"train:loss\",\"Regex\":\"loss=(.*)\"}]}", 1,
                0);
    assert_list("{\"train:loss\":\"loss=(.*)\",\"b\":\"c\"}", 2, 0);
}

static void what_looks_otherwise_is_passed_over(void) {
    assert_list("1", 0, 0);
    assert_list("null", 0, 0);
    assert_list(
        "[1,null,[],{},\"x\",{\"Name\":\"a\"},{\"Regex\":\"a\"},"
        "{\"Name\":1,\"Regex\":\"a\"},{\"Name\":\"\",\"Regex\":\"a\"},"
        "{\"Name\":\"a\",\"Regex\":\"\"},{\"Name\":\"train:loss\",\"Regex\":\"loss=(.*)\"}]",
        1, 10);
    assert_list("{\"MetricDefinitions\":1}", 0, 0);
    assert_list("{\"train:loss\":\"loss=(.*)\",\"b\":{\"c\":\"d\"}}", 1, 1);
}

static void numbers_and_lengths_have_ceilings(void) {
    char text[8192] = "[";
    for (int i = 0; i < METRIC_DEFINITIONS_MAX + 3; i++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
                       "%s{\"Name\":\"train:loss\",\"Regex\":\"loss=(.*)\"}", i > 0 ? "," : "");
    (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "]");
    assert_list(text, METRIC_DEFINITIONS_MAX, 3);
    memset(text, 'x', sizeof(text));
    memcpy(text, "{\"a\":\"", 6);
    memcpy(text + 6 + METRIC_REGEX_SIZE, "\"}", 3);
    assert_list(text, 0, 1);
    struct metric_definitions l;
    memset(text, 'n', 1000);
    memcpy(text, "{\"\xc3\xa9", 4);
    memcpy(text + 1000, "\":\"r\"}", 7);
    CU_ASSERT_EQUAL_FATAL(metric_definitions_parse(text, strlen(text), "m.json", &l, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(l.count, 1);
    CU_ASSERT_EQUAL(strlen(l.items[0].name), METRIC_NAME_SIZE - 1);
    CU_ASSERT_EQUAL(strncmp(l.items[0].name, "??n", 3), 0);
    metric_definitions_done(&l);
}

static void what_is_no_json_is_an_error_and_no_file_is_none(void) {
    struct metric_definitions l;
    struct error err = {0};
    CU_ASSERT_EQUAL(metric_definitions_parse("{", 1, "m.json", &l, &err), -1);
    CU_ASSERT_EQUAL(l.count, 0);
    metric_definitions_done(&l);
    CU_ASSERT_EQUAL(metric_definitions_read("/nowhere/m.json", &l, &err), 0);
    CU_ASSERT_EQUAL(l.count, 0);
    metric_definitions_done(&l);
    char path[4400];
    (void)snprintf(path, sizeof(path), "%s/loop.json", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(symlink("loop.json", path), 0);
    CU_ASSERT_EQUAL(metric_definitions_read(path, &l, &err), -1);
    CU_ASSERT_EQUAL(err.os_errno, ELOOP);
    metric_definitions_done(&l);
}

UNIT_SUITE("job.metric_definitions", UNIT(every_form_that_may_come_is_read),
           UNIT(what_looks_otherwise_is_passed_over), UNIT(numbers_and_lengths_have_ceilings),
           UNIT(what_is_no_json_is_an_error_and_no_file_is_none))
