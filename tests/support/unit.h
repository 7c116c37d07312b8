/* One CUnit suite a program: a table of named cases and a main that runs it.
 *
 *     static void parse_rejects_an_empty_name(void) { ... CU_ASSERT(...); ... }
 *     UNIT_MAIN("common.host", UNIT(parse_rejects_an_empty_name))
 *
 * The program ends with 0 when every assertion of every case held, 1 otherwise, and with 77
 * (skipped) after unit_skip(). A case that asserts nothing, and is not skipped, has failed. */
#ifndef TESTS_SUPPORT_UNIT_H
#define TESTS_SUPPORT_UNIT_H

#include <CUnit/CUnit.h>
#include <stddef.h>

struct unit_case {
    const char *name;
    void (*run)(void);
};

#define UNIT(function)                                                                             \
    { #function, function }

#define UNIT_MAIN(suite, ...)                                                                      \
    int main(void) {                                                                               \
        static const struct unit_case cases[] = {__VA_ARGS__};                                     \
        return unit_main(suite, cases, sizeof(cases) / sizeof(cases[0]));                          \
    }

int unit_main(const char *suite, const struct unit_case *cases, size_t count);

/* Says why on stdout and makes the program's status 77. For what the machine cannot offer. */
void unit_skip(const char *reason);

/* Asserts that TEXT holds PART and shows both when it does not. */
#define ASSERT_CONTAINS(text, part) unit_assert_contains((text), (part), __FILE__, __LINE__)
void unit_assert_contains(const char *text, const char *part, const char *file, int line);

/* A new empty folder under $TMPDIR, removed with all it holds when the program ends. The path is
 * valid until then. */
const char *unit_temp_dir(void);

/* Runs BODY in a process of its own, for what does not come back up (limits); returns the status
 * that waitpid gives: 0 where BODY returned 0. Assertions in BODY do not count. */
int unit_in_child(int (*body)(void));

#endif
