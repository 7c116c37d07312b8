/* Lists of numbers in a text file: a line is a letter for their type (i, f, d), a name, how many
 * they are, and the numbers. */
#ifndef TESTS_GOLDEN_VALUES_H
#define TESTS_GOLDEN_VALUES_H

#include "common/buf.h"
#include "common/file/file.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_TEXT_MAX = 4 << 20 };

struct values {
    size_t count;
    double *at; /* owned */
};

/* The text of tests/golden/PATH. */
static inline struct buf values_open(const char *path) {
    struct buf text;
    struct error err = {0};
    char whole[512];
    (void)snprintf(whole, sizeof(whole), RINGMASTER_TEST_DATA "/../golden/%s", path);
    buf_init(&text, VALUES_TEXT_MAX);
    CU_ASSERT_EQUAL_FATAL(file_read(whole, &text, &err), 0);
    return text;
}

static inline struct values values_read(struct buf *text, const char *name) {
    struct values values = {0};
    char start[96];
    (void)snprintf(start, sizeof(start), " %s ", name);
    const char *line = strstr(buf_text(text), start);
    if (line == NULL)
        printf("no values %s\n", name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    char *end;
    values.count = strtoul(line + strlen(start), &end, 10);
    values.at = calloc(values.count + 1, sizeof(*values.at));
    CU_ASSERT_PTR_NOT_NULL_FATAL(values.at);
    for (size_t i = 0; i < values.count; i++) {
        const char *from = end;
        values.at[i] = strtod(from, &end);
        CU_ASSERT_FATAL(end > from);
    }
    CU_ASSERT(*end == '\n' || *end == '\0');
    return values;
}

#endif
