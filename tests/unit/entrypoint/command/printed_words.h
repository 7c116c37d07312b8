/* Standard output of a command that takes words. */
#ifndef TESTS_UNIT_ENTRYPOINT_COMMAND_PRINTED_WORDS_H
#define TESTS_UNIT_ENTRYPOINT_COMMAND_PRINTED_WORDS_H

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <unistd.h>

/* Runs COMMAND with WORDS and appends to RET what it printed. Returns what it returned. */
static inline int printed_words(int (*command)(const char *const *words, struct error *err),
                                const char *const *words, struct buf *ret, struct error *err) {
    char path[600];
    (void)snprintf(path, sizeof(path), "%s/printed", unit_temp_dir());
    (void)fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    FILE *out = fopen(path, "w");
    CU_ASSERT_FATAL(saved >= 0 && out != NULL);
    (void)dup2(fileno(out), STDOUT_FILENO);
    int result = command(words, err);
    (void)fflush(stdout);
    (void)dup2(saved, STDOUT_FILENO);
    (void)close(saved);
    (void)fclose(out);
    CU_ASSERT_EQUAL(file_read(path, ret, NULL), 0);
    return result;
}

#endif
