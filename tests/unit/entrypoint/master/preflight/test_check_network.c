#include "common/json/json.h"
#include "entrypoint/master/preflight/check_rows.h"
#include "tests/support/unit.h"

#include <string.h>

static json_t *rows_for(const char *hosts_text) {
    json_t *rows = json_array();
    cleanup_json json_t *hosts = json_loads(hosts_text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(hosts);
    check_add_network(hosts, rows);
    return rows;
}

static const json_t *find(const json_t *rows, const char *status, const char *item) {
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (strcmp(check_text(row, NULL, "status"), status) == 0 &&
            strcmp(check_text(row, NULL, "item"), item) == 0)
            return row;
    }
    return NULL;
}

static const char *value_of(const json_t *rows, const char *status, const char *item) {
    const json_t *row = find(rows, status, item);
    CU_ASSERT_PTR_NOT_NULL(row);
    return check_text(row, NULL, "value");
}

static void good_ways_are_one_row(void) {
    cleanup_json json_t *rows =
        rows_for("[{\"name\":\"a\",\"network\":{\"ways\":[[1,1500000,\"\"]],\"sent\":{\"peer\":1,"
                 "\"bytes\":250000000,\"time\":1000000000,\"path_mtu\":1500,\"resent\":0}},"
                 "\"means\":{\"mtu\":1500}},"
                 "{\"name\":\"b\",\"network\":{\"ways\":[[0,2500000,\"\"]],\"sent\":{\"peer\":0,"
                 "\"bytes\":125000000,\"time\":500000000,\"path_mtu\":1500,\"resent\":9}},"
                 "\"means\":{\"mtu\":1500}}]");
    CU_ASSERT_EQUAL(json_array_size(rows), 2);
    CU_ASSERT_STRING_EQUAL(value_of(rows, "ok", "reach"),
                           "2 connections, the longest round trip 2.500 ms: b to a");
    ASSERT_CONTAINS(value_of(rows, "ok", "bandwidth"), "all hosts at once 2000 to 2000 Mbit/s");
}

/* With many hosts, not every connection is tried. */
static void what_was_not_tried_is_reported(void) {
    for (int count = 17; count <= 18; count++) {
        cleanup_json json_t *hosts = json_array();
        for (int i = 0; i < count; i++)
            (void)json_array_append_new(hosts, json_pack("{s:s, s:{s:[[i, i, s]]}}", "name", "a",
                                                         "network", "ways", 0, 1500000, ""));
        cleanup_json json_t *rows = json_array();
        check_add_network(hosts, rows);
        ASSERT_CONTAINS(value_of(rows, "ok", "reach"),
                        count == 17
                            ? "17 connections, the longest round trip"
                            : "18 connections of 306, 16 neighbours a host and the first one, "
                              "the longest round trip");
    }
}

static void one_way_streets_slow_ones_and_narrow_ones_are_reported(void) {
    cleanup_json json_t *rows = rows_for(
        "[{\"name\":\"a\",\"network\":{\"ways\":[[1,0,\"no answer\"],[2,9,\"\"]],\"sent\":{"
        "\"peer\":1,\"bytes\":100000000,\"time\":1000000000,\"path_mtu\":1400}},"
        "\"means\":{\"mtu\":9001}},"
        "{\"name\":\"b\",\"network\":{\"ways\":[[0,7,\"\"]],\"sent\":{\"peer\":2,\"bytes\":"
        "49000000,\"time\":1000000000,\"path_mtu\":1500}},\"means\":{\"mtu\":1500}},"
        "{\"name\":\"c\",\"network\":{\"ways\":[],\"sent\":{\"peer\":0,\"bytes\":0,\"time\":"
        "300000000,\"path_mtu\":1500}},\"means\":{\"mtu\":1500}},"
        "{\"name\":\"d\",\"network\":{\"ways\":[],\"sent\":{\"peer\":0,\"bytes\":120000000,"
        "\"time\":1000000000,\"path_mtu\":1500}},\"means\":{\"mtu\":1500}},"
        "{\"name\":\"e\"}]");
    CU_ASSERT_STRING_EQUAL(value_of(rows, "bad", "reach"), "a does not reach b: no answer");
    CU_ASSERT_EQUAL(check_number(find(rows, "bad", "reach"), NULL, "code"), 69);
    CU_ASSERT_STRING_EQUAL(value_of(rows, "bad", "bandwidth"),
                           "bulk data from c does not arrive at a");
    CU_ASSERT_STRING_EQUAL(value_of(rows, "warning", "bandwidth"), "392 Mbit/s from b to c");
    CU_ASSERT_STRING_EQUAL(value_of(rows, "warning", "packets"),
                           "packets of 1400 bytes from a to b, its interface has 9001");
}

static void many_ways_that_fail_are_counted(void) {
    json_t *ways = json_array();
    for (int i = 0; i < 20; i++)
        (void)json_array_append_new(ways, json_pack("[i, i, s]", 1, 0, "no"));
    cleanup_json json_t *hosts =
        json_pack("[{s:s, s:{s:o}}, {s:s}]", "name", "a", "network", "ways", ways, "name", "b");
    cleanup_json json_t *rows = json_array();
    check_add_network(hosts, rows);
    CU_ASSERT_EQUAL(json_array_size(rows), 17);
    CU_ASSERT_STRING_EQUAL(check_text(json_array_get(rows, 16), NULL, "value"),
                           "4 more connections fail");
}

static void what_hosts_tell_may_be_anything(void) {
    static const char *const odd[] = {
        "[{},{}]",
        "[{\"network\":[]},{\"network\":7}]",
        "[{\"network\":{\"ways\":[[9,1,\"\"],[-1,0,\"\"],[],[1],7,null]}},{}]",
        "[{\"network\":{\"ways\":{},\"sent\":{\"peer\":9,\"bytes\":1,\"time\":1}}},{}]",
        "[{\"network\":{\"sent\":{\"peer\":1,\"bytes\":-1,\"time\":1}}},{}]",
        "[{\"network\":{\"sent\":{\"peer\":1,\"bytes\":1,\"time\":0}}},{}]"};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        cleanup_json json_t *rows = rows_for(odd[i]);
        CU_ASSERT_PTR_NULL(find(rows, "ok", "reach"));
        CU_ASSERT_PTR_NULL(find(rows, "ok", "bandwidth"));
    }
    cleanup_json json_t *alone = rows_for("[{\"network\":{\"ways\":[[0,1,\"\"]]}}]");
    CU_ASSERT_EQUAL(json_array_size(alone), 0);
}

static void translated_addresses_are_reported(void) {
    cleanup_json json_t *rows =
        rows_for("[{\"name\":\"a\"},{\"name\":\"b\",\"sends_from\":\"10.0.0.2\","
                 "\"arrives_from\":\"10.0.0.99\"}]");
    CU_ASSERT_EQUAL(json_array_size(rows), 1);
    CU_ASSERT_STRING_EQUAL(value_of(rows, "warning", "addresses"),
                           "b sends from 10.0.0.2 and arrives from 10.0.0.99");
}

UNIT_SUITE("master.check_network", UNIT(translated_addresses_are_reported),
           UNIT(good_ways_are_one_row), UNIT(what_was_not_tried_is_reported),
           UNIT(one_way_streets_slow_ones_and_narrow_ones_are_reported),
           UNIT(many_ways_that_fail_are_counted), UNIT(what_hosts_tell_may_be_anything))
