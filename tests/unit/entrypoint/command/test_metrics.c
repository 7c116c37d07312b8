#include "entrypoint/command/metrics.h"

#include "common/json/json.h"
#include "tests/support/unit.h"

static void metric_definitions_have_names_and_expressions(void) {
    cleanup_buf struct buf text;
    cleanup_json json_t *list = NULL;
    buf_init(&text, 65536);
    CU_ASSERT_EQUAL(metrics_print(&text, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(json_parse(buf_text(&text), text.size, "metrics", &list, NULL), 0);
    CU_ASSERT(json_array_size(list) > 0);
    for (size_t i = 0; i < json_array_size(list); i++) {
        CU_ASSERT(json_is_string(json_object_get(json_array_get(list, i), "Name")));
        CU_ASSERT(json_is_string(json_object_get(json_array_get(list, i), "Regex")));
    }
}

UNIT_SUITE("entrypoint.metrics", UNIT(metric_definitions_have_names_and_expressions))
