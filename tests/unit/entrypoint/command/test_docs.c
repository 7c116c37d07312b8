#include "entrypoint/command/docs.h"

#include "common/exit_code.h"
#include "common/json/json.h"
#include "tests/support/paper.h"
#include "tests/support/unit.h"

static void every_page_has_its_table(void) {
    size_t count = 0;
    for (const struct docs_table *t = docs_tables(); t->name != NULL; t++, count++)
        assert_paper_has(t->page, t->name, t->print);
    CU_ASSERT(count >= 10);
}

static void one_table_or_their_names_are_printed(void) {
    struct error err = {0};
    cleanup_buf struct buf names;
    cleanup_buf struct buf codes;
    buf_init(&names, 1 << 16);
    buf_init(&codes, 1 << 16);
    CU_ASSERT_EQUAL(docs_print(NULL, &names, &err), 0);
    ASSERT_CONTAINS(buf_text(&names), "variables docs/reference/variables.md\n");
    CU_ASSERT_EQUAL(docs_print("exit-codes", &codes, &err), 0);
    ASSERT_CONTAINS(buf_text(&codes), "| 77 | `key-refused` | ");
    ASSERT_CONTAINS(buf_text(&codes), "| 128 + n | `signal` | ");
    CU_ASSERT_EQUAL(docs_print("nothing", &codes, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "unknown table \"nothing\"");
    CU_ASSERT_EQUAL(docs_print("commnds", &codes, &err), -1);
    ASSERT_CONTAINS(err.text, "; did you mean commands?");
}

static void metric_definitions_have_names_and_expressions(void) {
    cleanup_buf struct buf text;
    cleanup_json json_t *list = NULL;
    buf_init(&text, 65536);
    CU_ASSERT_EQUAL(docs_metrics(&text, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(json_parse(buf_text(&text), text.size, "metrics", &list, NULL), 0);
    CU_ASSERT(json_array_size(list) > 0);
    for (size_t i = 0; i < json_array_size(list); i++) {
        CU_ASSERT(json_is_string(json_object_get(json_array_get(list, i), "Name")));
        CU_ASSERT(json_is_string(json_object_get(json_array_get(list, i), "Regex")));
    }
}

UNIT_SUITE("entrypoint.docs", UNIT(metric_definitions_have_names_and_expressions),
           UNIT(every_page_has_its_table), UNIT(one_table_or_their_names_are_printed))
