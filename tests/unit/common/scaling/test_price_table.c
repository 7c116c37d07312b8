#include "common/scaling/price_table.h"

#include "common/json/json.h"
#include "tests/support/unit.h"

#include <string.h>

static int parse(const char *text, struct price_table *ret, struct error *err) {
    json_t *root = NULL;
    int result = json_parse(text, strlen(text), "prices", &root, err);
    if (result == 0)
        result = price_table_parse(ret, root, "prices", err);
    json_decref(root);
    return result;
}

static void machines_have_prices(void) {
    struct price_table t;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(
        parse("{\"currency\":\"EUR\",\"instances\":[{\"name\":\"eight\",\"ranks\":8,"
              "\"price_per_hour\":32}]}",
              &t, &err),
        0);
    CU_ASSERT_STRING_EQUAL(t.currency, "EUR");
    CU_ASSERT_EQUAL(t.count, 1);
    CU_ASSERT_EQUAL(price_machines(&t.list[0], 8), 1);
    CU_ASSERT_EQUAL(price_machines(&t.list[0], 9), 2);
    CU_ASSERT_DOUBLE_EQUAL(price_of(&t.list[0], 9, 1800), 32, 1e-9);
}

static void bad_files_are_told(void) {
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"[]", "expected an object"},
        {"{}", "\"instances\" needs a list"},
        {"{\"instances\":[]}", "\"instances\" needs a list"},
        {"{\"instances\":[7]}", "instances[0]: expected"},
        {"{\"instances\":[{\"ranks\":1,\"price_per_hour\":1}]}", "\"name\" needs a text"},
        {"{\"instances\":[{\"name\":\"a\",\"price_per_hour\":1}]}", "\"ranks\" needs"},
        {"{\"instances\":[{\"name\":\"a\",\"ranks\":0,\"price_per_hour\":1}]}", "\"ranks\" needs"},
        {"{\"instances\":[{\"name\":\"a\",\"ranks\":1}]}", "\"price_per_hour\" needs"},
        {"{\"instances\":[{\"name\":\"a\",\"ranks\":1,\"price_per_hour\":-1}]}",
         "\"price_per_hour\" needs"},
        {"{\"instances\":[{\"name\":\"a\",\"ranks\":1,\"price_per_hour\":1},"
         "{\"name\":\"a\",\"ranks\":1,\"price_per_hour\":1}]}",
         "\"a\" appears twice"},
        {"{\"instances\":[{\"name\":\"a\",\"ranks\":1,\"price_per_hour\":1,\"spot\":1}]}",
         "unknown member \"spot\""},
        {"{\"price\":1}", "unknown member \"price\""},
        {"{\"currency\":7}", "currency"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct price_table t;
        struct error err = {0};
        CU_ASSERT_EQUAL(parse(cases[i].text, &t, &err), -1);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].said));
    }
}

static void a_missing_file_is_a_wrong_setting(void) {
    struct price_table t;
    struct error err = {0};
    CU_ASSERT_EQUAL(price_table_read(&t, "/nonexistent/prices.json", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/nonexistent/prices.json"));
}

UNIT_SUITE("common.scaling.price_table", UNIT(machines_have_prices), UNIT(bad_files_are_told),
           UNIT(a_missing_file_is_a_wrong_setting))
