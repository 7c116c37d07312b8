/* The main of test programs: registered suites, chosen by the arguments. */
#include "tests/support/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STATUS_USAGE = 2, STATUS_SKIPPED = 77 };

static struct unit_suite *first_suite; /* in the order of their files */
enum { ROLES_MAX = 16 };
static unit_role roles[ROLES_MAX];
static size_t role_count;

void unit_register(struct unit_suite *suite) {
    struct unit_suite **at = &first_suite;
    while (*at != NULL && strcmp((*at)->file, suite->file) < 0)
        at = &(*at)->next;
    suite->next = *at;
    *at = suite;
}

void unit_register_role(unit_role role) {
    if (role_count == ROLES_MAX)
        abort();
    roles[role_count++] = role;
}

/* A suite is called as its file without .c: test_buf. */
static bool is_called(const struct unit_suite *suite, const char *stem) {
    const char *slash = strrchr(suite->file, '/');
    const char *name = slash != NULL ? slash + 1 : suite->file;
    const size_t length = strlen(stem);
    return strncmp(name, stem, length) == 0 && strcmp(name + length, ".c") == 0;
}

static int run_case(const struct unit_suite *suite, const char *name) {
    for (size_t i = 0; i < suite->count; i++)
        if (strcmp(suite->cases[i].name, name) == 0)
            return unit_main(suite->title, &suite->cases[i], 1);
    (void)fprintf(stderr, "%s: no case '%s'\n", suite->title, name);
    return STATUS_USAGE;
}

static int run_suite(const char *stem, const char *name) {
    for (const struct unit_suite *suite = first_suite; suite != NULL; suite = suite->next)
        if (is_called(suite, stem))
            return name != NULL ? run_case(suite, name)
                                : unit_main(suite->title, suite->cases, suite->count);
    (void)fprintf(stderr, "no suite '%s'; there are:\n", stem);
    for (const struct unit_suite *suite = first_suite; suite != NULL; suite = suite->next)
        (void)fprintf(stderr, "  %s (%s)\n", suite->title, suite->file);
    return STATUS_USAGE;
}

static int run_apart(const struct unit_suite *suite) {
    int status = -1;
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const int code = unit_main(suite->title, suite->cases, suite->count);
        (void)fflush(NULL);
        _exit(code);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return 1;
    return WEXITSTATUS(status);
}

static int run_all(void) {
    int result = 0;
    for (const struct unit_suite *suite = first_suite; suite != NULL; suite = suite->next) {
        const int code = run_apart(suite);
        if (code != 0 && code != STATUS_SKIPPED)
            result = 1;
        else if (code == STATUS_SKIPPED && result == 0)
            result = STATUS_SKIPPED;
    }
    return result;
}

int main(int argc, char **argv) {
    for (size_t i = 0; i < role_count; i++) {
        const int code = roles[i](argc, argv);
        if (code >= 0)
            return code;
    }
    if (argc > 3) {
        (void)fprintf(stderr, "usage: %s [SUITE [CASE]]\n", argv[0]);
        return STATUS_USAGE;
    }
    if (argc > 1)
        return run_suite(argv[1], argc > 2 ? argv[2] : NULL);
    if (first_suite != NULL && first_suite->next == NULL)
        return unit_main(first_suite->title, first_suite->cases, first_suite->count);
    return run_all();
}
