/* Copy of this test program beside another one.
 *
 * It is for code that looks for its companions in its own folder. */
#ifndef TESTS_SUPPORT_BESIDE_H
#define TESTS_SUPPORT_BESIDE_H

#include "common/buf.h"
#include "common/file/file.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs a copy of this program from a folder that has COMPANION, too: SCRIPT, or with NULL another
 * copy. WORD becomes its only one, NULL for none. Returns the status that waitpid gives. */
static inline int beside_run(const char *companion, const char *script, char *word) {
    char self[PATH_MAX], folder[PATH_MAX], copy[PATH_MAX + 16], other[PATH_MAX + 32];
    cleanup_buf struct buf bytes = {.max = 1 << 28};
    int status = -1;
    (void)snprintf(folder, sizeof(folder), "%s/beside", unit_temp_dir());
    (void)snprintf(copy, sizeof(copy), "%s/test", folder);
    (void)snprintf(other, sizeof(other), "%s/%s", folder, companion);
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(folder, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(file_self(self, sizeof(self), NULL), 0);
    CU_ASSERT_EQUAL_FATAL(file_read(self, &bytes, NULL), 0);
    const char *text = script != NULL ? script : bytes.data;
    size_t size = script != NULL ? strlen(script) : bytes.size;
    CU_ASSERT_EQUAL_FATAL(file_publish(copy, bytes.data, bytes.size, 0755, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(file_publish(other, text, size, 0755, NULL), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char *const words[] = {copy, word, NULL};
        (void)execv(copy, words);
        _exit(101);
    }
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    return status;
}

#endif
