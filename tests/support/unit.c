#include "tests/support/unit.h"

#include <CUnit/Basic.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool skipped;
static bool case_skipped;
static const struct unit_case *next_case;
static char temp_dir[PATH_MAX];

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

int unit_in_child(int (*body)(void)) {
    pid_t pid = fork();
    if (pid == 0)
        _exit(body());
    int status = -1;
    (void)waitpid(pid, &status, 0);
    return status;
}

const char *unit_temp_dir(void) {
    if (temp_dir[0] == '\0') {
        const char *base = getenv("TMPDIR");
        snprintf(temp_dir, sizeof(temp_dir), "%s/ringmaster-test-XXXXXX", base ? base : "/tmp");
        if (mkdtemp(temp_dir) == NULL) {
            perror(temp_dir);
            exit(1);
        }
    }
    return temp_dir;
}

void unit_skip(const char *reason) {
    printf("skipped: %s\n", reason);
    skipped = case_skipped = true;
}

void unit_assert_contains(const char *text, const char *part, const char *file, int line) {
    bool found = text != NULL && strstr(text, part) != NULL;
    if (!found)
        printf("\n%s:%d: \"%s\" does not contain \"%s\"\n", file, line, text ? text : "(null)",
               part);
    CU_assertImplementation(found, (unsigned)line, "ASSERT_CONTAINS", file, "", CU_FALSE);
}

void unit_assert_text(const char *got, const char *wanted, const char *file, int line) {
    bool same = got != NULL && strcmp(got, wanted) == 0;
    if (!same)
        printf("\n%s:%d: got \"%s\", expected \"%s\"\n", file, line, got ? got : "(null)", wanted);
    CU_assertImplementation(same, (unsigned)line, "ASSERT_TEXT", file, "", CU_FALSE);
}

/* CUnit runs its tests in the order in which they were added, each once: all of them are this one.
 */
static void run_next_case(void) {
    const struct unit_case *c = next_case++;
    unsigned before = CU_get_number_of_asserts();
    case_skipped = false;
    c->run();
    if (!case_skipped && CU_get_number_of_asserts() == before) {
        printf("\n%s asserts nothing\n", c->name);
        CU_FAIL("a case without an assertion");
    }
}

int unit_main(const char *title, const struct unit_case *cases, size_t count) {
    if (CU_initialize_registry() != CUE_SUCCESS)
        return 1;
    CU_pSuite handle = CU_add_suite(title, NULL, NULL);
    next_case = cases;
    for (size_t i = 0; handle != NULL && i < count; i++)
        if (CU_add_test(handle, cases[i].name, run_next_case) == NULL)
            return 1;
    CU_basic_set_mode(CU_BRM_NORMAL);
    CU_ErrorCode ran = CU_basic_run_tests();
    unsigned failures = CU_get_number_of_failures();
    CU_cleanup_registry();
    if (temp_dir[0] != '\0')
        nftw(temp_dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    if (ran != CUE_SUCCESS || failures > 0 || next_case != cases + count || count == 0)
        return 1;
    return skipped ? 77 : 0;
}
