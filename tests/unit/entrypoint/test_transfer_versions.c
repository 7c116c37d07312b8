#include "entrypoint/transfer_versions.h"

#include "common/file.h"
#include "support/unit.h"

#include <stdio.h>
#include <string.h>

static char program[4096];

/* A program of that script, asked. */
static int ask(const char *script, struct buf *ret, struct error *err) {
    buf_init(ret, 65536);
    (void)snprintf(program, sizeof(program), "%s/program", unit_temp_dir());
    CU_ASSERT_EQUAL(file_publish(program, script, strlen(script), 0755, NULL), 0);
    return transfer_versions(program, ret, err);
}

static void its_lines_are_taken(void) {
    cleanup_buf struct buf text;
    CU_ASSERT_EQUAL(ask("#!/bin/sh\necho \"$1 one\"\necho two 2\n", &text, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "version one\ntwo 2\n");
}

static void a_failure_is_one(void) {
    struct error err = {0};
    cleanup_buf struct buf text;
    CU_ASSERT_EQUAL(ask("#!/bin/sh\necho half\nexit 3\n", &text, &err), -1);
    ASSERT_CONTAINS(err.text, "version ended with 3");
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "");
    CU_ASSERT_EQUAL(transfer_versions("/no/such/program", &text, &err), -1);
}

/* More than there is room for is cut, and nothing waits for it. */
static void endless_words_end(void) {
    cleanup_buf struct buf text;
    CU_ASSERT_EQUAL(ask("#!/bin/sh\nseq 100000\n", &text, NULL), 0);
    CU_ASSERT_TRUE(text.size > 0 && text.size <= TRANSFER_VERSIONS_MAX);
}

UNIT_MAIN("entrypoint.transfer_versions", UNIT(its_lines_are_taken), UNIT(a_failure_is_one),
          UNIT(endless_words_end))
