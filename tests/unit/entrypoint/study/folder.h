/* Files of a test in a folder of its own. */
#ifndef TESTS_UNIT_ENTRYPOINT_STUDY_FOLDER_H
#define TESTS_UNIT_ENTRYPOINT_STUDY_FOLDER_H

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FOLDER_PATH = 64, FOLDER_TEXT = 32 * 1024 };

static inline void folder_make(char ret[FOLDER_PATH]) {
    (void)snprintf(ret, FOLDER_PATH, "/tmp/study-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(ret));
}

static inline void folder_put(const char *folder, const char *name, const char *text,
                              char ret[2 * FOLDER_PATH]) {
    struct error err = {0};
    (void)snprintf(ret, 2 * (size_t)FOLDER_PATH, "%s/%s", folder, name);
    CU_ASSERT_EQUAL_FATAL(file_put(ret, text, strlen(text), 0644, &err), 0);
}

/* Returns whether the file NAME contains WORDS. */
static inline bool folder_has(const char *folder, const char *name, const char *words) {
    char path[2 * FOLDER_PATH], text[FOLDER_TEXT];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    (void)fclose(file);
    if (strstr(text, words) == NULL)
        printf("missing in %s: %s\n%s\n", name, words, text);
    return strstr(text, words) != NULL;
}

#endif
