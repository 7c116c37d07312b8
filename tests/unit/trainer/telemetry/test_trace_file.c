#include "common/buf.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "tests/support/unit.h"
#include "trainer/telemetry/trace_file.h"

#include <stdio.h>
#include <string.h>

static void spans_of_ranks_become_a_trace(void) {
    const struct timeline_span first[] = {{1000000, 3000500, 7, TIMELINE_STEP},
                                          {1001000, 1002000, 7, TIMELINE_DATA}};
    const struct timeline_span second[] = {{999000, 2000000, 4096, TIMELINE_SUM},
                                           {5, 1, 0, TIMELINE_STEP},   /* ends before it begins */
                                           {1, 2, 0, TIMELINE_KINDS}}; /* of no kind */
    const struct trace_rank ranks[] = {
        {"a \"host\"", 0, first, 2}, {"b", 12345, second, 1}, {"c", 0, second, 3}};
    char path[1024];
    cleanup_buf struct buf text = {.max = 1 << 16};
    json_t *root = NULL;
    (void)snprintf(path, sizeof(path), "%s/trace.json", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(trace_file_write(path, ranks, 2, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(json_read_file(path, &root, NULL), 0);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(root, "traceEvents")), 2 * 5 + 3);
    json_decref(root);
    CU_ASSERT_EQUAL_FATAL(file_read(path, &text, NULL), 0);
    ASSERT_CONTAINS(buf_text(&text), "\"rank 0, a \\\"host\\\"\"");
    ASSERT_CONTAINS(buf_text(&text),
                    "{\"ph\":\"X\",\"name\":\"step\",\"pid\":0,\"tid\":0,\"ts\":1.000,"
                    "\"dur\":2000.500,\"args\":{\"step\":7}}");
    ASSERT_CONTAINS(buf_text(&text),
                    "{\"ph\":\"X\",\"name\":\"all-reduce\",\"pid\":1,\"tid\":1,\"ts\":0.000,"
                    "\"dur\":1001.000,\"args\":{\"bytes\":4096}}");
    ASSERT_CONTAINS(buf_text(&text), "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":1,"
                                     "\"args\":{\"labels\":\"clock within 12.345 us\"}}");
    /* What is no span is left out. */
    CU_ASSERT_EQUAL_FATAL(trace_file_write(path, ranks, 3, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(json_read_file(path, &root, NULL), 0);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(root, "traceEvents")), 3 * 5 + 4);
    json_decref(root);
}

static void a_place_that_is_not_there_is_an_error(void) {
    struct error err = {0};
    CU_ASSERT_EQUAL(trace_file_write("/nowhere/trace.json", NULL, 0, &err), -1);
    ASSERT_CONTAINS(err.text, "/nowhere");
}

UNIT_SUITE("telemetry.trace_file", UNIT(spans_of_ranks_become_a_trace),
           UNIT(a_place_that_is_not_there_is_an_error))
