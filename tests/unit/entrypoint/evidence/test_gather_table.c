#include "entrypoint/evidence/gather_table.h"

#include "tests/support/unit.h"

#include <string.h>

static void rows_are_whole(void) {
    for (size_t i = 0; i < evidence_row_count(); i++) {
        const struct evidence_row *row = &evidence_rows[i];
        CU_ASSERT_PTR_EQUAL(evidence_row_find(row->name), row);
        CU_ASSERT(row->milliseconds > 0);
        CU_ASSERT(row->milliseconds <= GATHER_ORDER_SECONDS * 1000);
        CU_ASSERT(row->most > 0 && row->most <= GATHER_ORDER_BYTES);
        CU_ASSERT_PTR_NULL(strchr(row->file, '/'));
        /* Two hosts may share the folder, and ranks do. */
        CU_ASSERT(row->of != EVIDENCE_OF_RANK || strstr(row->file, "RANK") != NULL);
        CU_ASSERT(row->of != EVIDENCE_OF_HOST || strstr(row->file, "HOST") != NULL);
    }
    CU_ASSERT_PTR_NULL(evidence_row_find("none"));
}

static void files_have_names(void) {
    char name[EVIDENCE_FILE_SIZE];
    char host[400];
    evidence_row_file(evidence_row_find("stacks"), "algo-2", 13, name);
    CU_ASSERT_STRING_EQUAL(name, "algo-2-rank-13-stacks.txt");
    evidence_row_file(evidence_row_find("host"), "algo-2", 0, name);
    CU_ASSERT_STRING_EQUAL(name, "algo-2-state.txt");
    memset(host, 'h', sizeof(host) - 1);
    host[sizeof(host) - 1] = '\0';
    evidence_row_file(evidence_row_find("host"), host, 0, name);
    CU_ASSERT_EQUAL(strlen(name), sizeof(name) - 1);
}

static void the_page_has_every_row(void) {
    cleanup_buf struct buf text;
    buf_init(&text, 64 * 1024);
    CU_ASSERT_EQUAL(evidence_page(&text, NULL), 0);
    for (size_t i = 0; i < evidence_row_count(); i++)
        ASSERT_CONTAINS(buf_text(&text), evidence_rows[i].what);
    buf_done(&text);
    buf_init(&text, 8);
    CU_ASSERT_EQUAL(evidence_page(&text, NULL), -1);
}

UNIT_SUITE("evidence.gather_table", UNIT(rows_are_whole), UNIT(files_have_names),
           UNIT(the_page_has_every_row))
