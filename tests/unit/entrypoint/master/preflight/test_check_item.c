#include "entrypoint/master/preflight/check_item.h"

#include "common/json/json.h"
#include "tests/support/unit.h"

#include <string.h>

static void look(const json_t *host, const json_t *master, struct check_finding *f) {
    const char *word = check_text(host, "part", "word");
    check_put(f, "%s", word);
    if (strcmp(word, check_text(master, "part", "word")) != 0)
        check_warn(f, "differs");
    if (strcmp(word, "bad") == 0)
        check_fail(f, EXIT_CODE_DEVICE, "is bad");
}

static void hosts_alike_share_a_row(void) {
    static const struct check_item item = {"thing", {"part"}, look};
    cleanup_json json_t *hosts = json_loads(
        "[{\"name\":\"a\",\"part\":{\"word\":\"x\"}},{\"name\":\"b\",\"part\":{\"word\":\"x\"}},"
        "{\"name\":\"c\",\"part\":{\"word\":\"y\"}},{\"name\":\"d\",\"part\":{\"word\":\"bad\"}},"
        "{\"name\":\"e\"},{\"name\":\"f\",\"part\":{}}]",
        0, NULL);
    static const char *const expected[][4] = {
        {"ok", "x", "", "a"}, {"warning", "y", "differs", "c"}, {"bad", "bad", "is bad", "d"}};
    cleanup_json json_t *rows = json_array();
    check_item_add(&item, hosts, rows);
    CU_ASSERT_EQUAL_FATAL(json_array_size(rows), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *row = json_array_get(rows, i);
        const json_t *names = json_object_get(row, "hosts");
        CU_ASSERT_STRING_EQUAL(check_text(row, NULL, "status"), expected[i][0]);
        CU_ASSERT_STRING_EQUAL(check_text(row, NULL, "value"), expected[i][1]);
        CU_ASSERT_STRING_EQUAL(check_text(row, NULL, "advice"), expected[i][2]);
        CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(names, 0)), expected[i][3]);
        CU_ASSERT_EQUAL(json_array_size(names), i == 0 ? 2 : 1);
    }
    CU_ASSERT_EQUAL(check_number(json_array_get(rows, 2), NULL, "code"), EXIT_CODE_DEVICE);
}

UNIT_SUITE("master.check_item", UNIT(hosts_alike_share_a_row))
