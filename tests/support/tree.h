/* Files of a machine that is a folder. */
#ifndef TESTS_SUPPORT_TREE_H
#define TESTS_SUPPORT_TREE_H

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ROOT/FOLDER/NAME with TEXT in it; the folder is made, too. */
static inline void tree_put(const char *root, const char *folder, const char *name,
                            const char *text) {
    char path[PATH_MAX + 1024];
    (void)snprintf(path, sizeof(path), "%s/%s", root, folder);
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(path, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/%s/%s", root, folder, name);
    CU_ASSERT_EQUAL_FATAL(file_put(path, text, strlen(text), 0644, NULL), 0);
}

#endif
