#include "tests/support/no_memory_rows.h"

#include "tests/support/no_memory.h"
#include "tests/support/unit.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { ALLOCATIONS_MAX = 5000, ANSWER_SIZE = 8192 };

static char answer[ANSWER_SIZE];

void no_memory_answer(const char *format, ...) {
    size_t used = strlen(answer);
    va_list list;
    va_start(list, format);
    (void)vsnprintf(answer + used, sizeof(answer) - used, format, list);
    va_end(list);
}

/* Returns false when N was one more than there are. */
static bool try_one(const struct no_memory_row *row, size_t n, bool for_good,
                    const char *expected) {
    struct error err = {0};
    answer[0] = '\0';
    no_memory_begin(n, for_good);
    int done = row->run(&err);
    bool failed = no_memory_end();
    bool right = done == 0 ? strcmp(answer, expected) == 0 : failed && err.text[0] != '\0';
    if (!right)
        printf("\n%s, allocation %zu%s: %d, \"%s\", %s\n", row->name, n, for_good ? " and on" : "",
               done, answer, err.text);
    CU_ASSERT(right);
    return failed;
}

static void try_row(const struct no_memory_row *row) {
    static char expected[ANSWER_SIZE];
    struct error err = {0};
    answer[0] = '\0';
    CU_ASSERT_EQUAL(row->run(&err), 0);
    (void)snprintf(expected, sizeof(expected), "%s", answer);
    size_t n = 1;
    while (n < ALLOCATIONS_MAX && try_one(row, n, false, expected))
        n++;
    CU_ASSERT(n > 1 && n < ALLOCATIONS_MAX);
    for (size_t from = 1; from < n; from++)
        (void)try_one(row, from, true, expected);
    printf("\n    %s: %zu allocations", row->name, n - 1);
}

void no_memory_try(const struct no_memory_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++)
        try_row(&rows[i]);
}
