#include "entrypoint/command/program_answer.h"

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static char program[4096];

/* A program of that script, asked. */
static int ask(const char *script, struct buf *ret, struct error *err) {
    buf_init(ret, 65536);
    (void)snprintf(program, sizeof(program), "%s/program", unit_temp_dir());
    CU_ASSERT_EQUAL(file_publish(program, script, strlen(script), 0755, NULL), 0);
    const char *const words[] = {program, "version", NULL};
    return program_answer(words, ret, err);
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
    static const char *const none[] = {"/no/such/program", "version", NULL};
    CU_ASSERT_EQUAL(program_answer(none, &text, &err), -1);
}

/* More than there is room for is cut, and nothing waits for it. */
static void endless_words_end(void) {
    cleanup_buf struct buf text;
    CU_ASSERT_EQUAL(ask("#!/bin/sh\nseq 100000\n", &text, NULL), 0);
    CU_ASSERT_TRUE(text.size > 0 && text.size <= PROGRAM_ANSWER_MAX);
}

UNIT_SUITE("entrypoint.program_answer", UNIT(its_lines_are_taken), UNIT(a_failure_is_one),
           UNIT(endless_words_end))
