/* Unit tests: CUnit suites, several to a program.
 *
 * A source holds one suite, a table of named cases. All suites of a program share its main:
 *
 *     static void parse_rejects_an_empty_name(void) { ... CU_ASSERT(...); ... }
 *     UNIT_SUITE("common.host", UNIT(parse_rejects_an_empty_name))
 *
 *     unit_common                  every suite, each in a process of its own
 *     unit_common test_buf         the suite in test_buf.c
 *     unit_common test_buf a_case  one case of it
 *
 * The status is 0 when every assertion of every case held, 1 otherwise, and 77 (skipped) after
 * unit_skip(). A case that asserts nothing, and does not skip, has failed. */
#ifndef TESTS_SUPPORT_UNIT_H
#define TESTS_SUPPORT_UNIT_H

#include <CUnit/CUnit.h>
#include <stddef.h>

struct unit_case {
    const char *name;
    void (*run)(void);
};

struct unit_suite {
    const char *title;
    const char *file; /* the source, .../test_STEM.c */
    const struct unit_case *cases;
    size_t count;
    struct unit_suite *next;
};

#define UNIT(function)                                                                             \
    { #function, function }

/* Registers the suite before main starts. */
#define UNIT_SUITE(title, ...)                                                                     \
    __attribute__((constructor)) static void unit_register_this(void) {                            \
        static const struct unit_case cases[] = {__VA_ARGS__};                                     \
        static struct unit_suite suite = {title, __FILE__, cases,                                  \
                                          sizeof(cases) / sizeof(cases[0]), NULL};                 \
        unit_register(&suite);                                                                     \
    }

void unit_register(struct unit_suite *suite);

/* Runs cases as one suite; returns the status of the program. For sources with a main of their own,
 * which are a program each (ALONE in cmake/Room.cmake). */
int unit_main(const char *title, const struct unit_case *cases, size_t count);

/* A hook that main calls before any suite, for tests that start their own program again in another
 * role. It returns that role's status, or -1 where the arguments are not for it. */
#define UNIT_ROLE(function)                                                                        \
    __attribute__((constructor)) static void unit_register_role_here(void) {                       \
        unit_register_role(function);                                                              \
    }
typedef int (*unit_role)(int argc, char **argv);
void unit_register_role(unit_role role);

/* Prints why on stdout and makes the status 77. For what the machine cannot offer. */
void unit_skip(const char *reason);

/* Asserts that TEXT holds PART and shows both when it does not. */
#define ASSERT_CONTAINS(text, part) unit_assert_contains((text), (part), __FILE__, __LINE__)
void unit_assert_contains(const char *text, const char *part, const char *file, int line);

/* Passes if GOT is WANTED; prints both if not. */
#define ASSERT_TEXT(got, wanted) unit_assert_text((got), (wanted), __FILE__, __LINE__)
void unit_assert_text(const char *got, const char *wanted, const char *file, int line);

/* A new empty folder under $TMPDIR, removed with all it holds when the program ends. The path is
 * valid until then. */
const char *unit_temp_dir(void);

/* Runs BODY in a child process, for limits that cannot be raised again; returns the status that
 * waitpid gives: 0 where BODY returned 0. Assertions in BODY do not count. */
int unit_in_child(int (*body)(void));

#endif
