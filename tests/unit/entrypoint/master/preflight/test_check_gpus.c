#include "common/json/json.h"
#include "entrypoint/master/preflight/check_rows.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

/* Returns the rows for one host whose "gpus" have the members GPUS. */
static json_t *rows_of(const char *gpus) {
    char text[2048];
    (void)snprintf(text, sizeof(text), "[{\"name\": \"a\", \"gpus\": {%s}}]", gpus);
    cleanup_json json_t *hosts = json_loads(text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(hosts);
    json_t *rows = json_array();
    check_add_gpus(hosts, rows);
    return rows;
}

/* Returns what the row of ITEM says, "warning: value; advice", or "" if there is none. */
static const char *row_of(const json_t *rows, const char *item) {
    static char text[1024];
    text[0] = '\0';
    const json_t *row = NULL;
    size_t i = 0;
    json_array_foreach(rows, i, row) {
        if (strcmp(check_text(row, NULL, "item"), item) == 0)
            (void)snprintf(text, sizeof(text), "%s: %s; %s", check_text(row, NULL, "status"),
                           check_text(row, NULL, "value"), check_text(row, NULL, "advice"));
    }
    return text;
}

static void good_gpus_are_ok(void) {
    cleanup_json json_t *rows =
        rows_of("\"source\": \"NVML\", \"devices\": [{\"bus\": \"0:1:0\", \"used_mib\": 512,"
                "\"memory_mib\": 80000, \"ecc\": 1, \"uncorrected\": 0, \"remap_pending\": 0,"
                "\"remap_failed\": 0, \"clocks\": 5, \"pcie_generation\": 1, "
                "\"pcie_generation_max\": 5, \"pcie_width\": 16, \"pcie_width_max\": 16, "
                "\"links\": 18, \"links_up\": 18}]");
    CU_ASSERT_STRING_EQUAL(row_of(rows, "gpu driver"), "ok: 1 answer to NVML; ");
    CU_ASSERT_STRING_EQUAL(row_of(rows, "gpu ecc"), "ok: no uncorrected error of the memory; ");
    CU_ASSERT_STRING_EQUAL(row_of(rows, "gpu clocks"), "ok: no clock is slowed down; ");
    CU_ASSERT_STRING_EQUAL(row_of(rows, "gpu pcie"),
                           "ok: GPU 0:1:0: generation 1 of 5, which is usual without load; ");
    CU_ASSERT_STRING_EQUAL(row_of(rows, "gpu nvlink"), "ok: 18 links up; ");
    CU_ASSERT_STRING_EQUAL(row_of(rows, "gpu memory"), "ok: free; ");
}

/* A value that the source does not report has no row. */
static void what_is_not_known_has_no_row(void) {
    cleanup_json json_t *rows =
        rows_of("\"source\": \"nvidia-smi\", \"devices\": [{\"bus\": \"0:1:0\"}]");
    CU_ASSERT_EQUAL(json_array_size(rows), 1);
    CU_ASSERT_STRING_EQUAL(row_of(rows, "gpu driver"), "ok: 1 answer to nvidia-smi; ");
}

static void what_is_wrong_is_named(void) {
    cleanup_json json_t *rows = rows_of(
        "\"source\": \"NVML\", \"devices\": [{\"bus\": \"A\", \"fault\": \"NVML returned 15 "
        "for it\"}, {\"bus\": \"B\", \"uncorrected\": 1, \"remap_pending\": 1, \"clocks\": 128,"
        "\"pcie_width\": 4, \"pcie_width_max\": 16, \"links\": 6, \"links_up\": 0,"
        "\"used_mib\": 513, \"memory_mib\": 1000, \"users\": \"pid 7\"}]");
    CU_ASSERT_STRING_EQUAL(row_of(rows, "gpu driver"),
                           "bad: 1 answer to NVML; GPU A: NVML returned 15 for it; the machine "
                           "has to be restarted");
    CU_ASSERT_EQUAL(check_number(json_array_get(rows, 0), NULL, "code"), EXIT_CODE_DEVICE);
    CU_ASSERT_STRING_EQUAL(row_of(rows, "gpu ecc"),
                           "warning: GPU B: 1 uncorrected error of the memory; GPU B waits for a "
                           "reset to replace a bad row");
    ASSERT_CONTAINS(row_of(rows, "gpu clocks"),
                    "warning: GPU B is slowed down: the machine's power");
    ASSERT_CONTAINS(row_of(rows, "gpu pcie"), "warning: GPU B: 4 lanes of 16; ");
    ASSERT_CONTAINS(row_of(rows, "gpu nvlink"), "warning: GPU B: 0 of 6 links up; ");
    ASSERT_CONTAINS(row_of(rows, "gpu memory"),
                    "warning: GPU B: 513 of 1000 MiB in use by pid 7; ");
}

static void a_driver_that_does_not_answer_is_a_warning(void) {
    cleanup_json json_t *rows = rows_of("\"fault\": \"no answer within 4.0 s\"");
    CU_ASSERT_EQUAL(json_array_size(rows), 1);
    ASSERT_CONTAINS(row_of(rows, "gpu driver"),
                    "warning: their state is not known: no answer within 4.0 s; ");
}

/* Findings from another host may be of any JSON type. */
static void odd_types_are_not_known(void) {
    cleanup_json json_t *rows = rows_of("\"devices\": [7, \"x\", {\"bus\": 5, \"clocks\": \"9\"}], "
                                        "\"source\": []");
    ASSERT_CONTAINS(row_of(rows, "gpu driver"), "ok: 3 answer to ");
    json_t *none = rows_of("\"devices\": {}");
    ASSERT_CONTAINS(row_of(none, "gpu driver"), "ok: 0 answer to ");
    json_decref(none);
}

UNIT_SUITE("master.check_gpus", UNIT(good_gpus_are_ok), UNIT(what_is_not_known_has_no_row),
           UNIT(what_is_wrong_is_named), UNIT(a_driver_that_does_not_answer_is_a_warning),
           UNIT(odd_types_are_not_known))
