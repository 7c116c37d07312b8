#include "entrypoint/host/ranks/launch_spec.h"

#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static void words_and_variables_arrive_as_they_were(void) {
    cleanup_argv struct argv environment = {0};
    cleanup_argv struct argv words = {0};
    static const char *const given[] = {"/bin/x", "", "a b", ":", "\n", "--lr", NULL};
    CU_ASSERT_EQUAL(argv_set_env(&environment, "A", "", NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(&environment, "B", "line\nline", NULL), 0);
    CU_ASSERT_EQUAL(argv_add_all(&words, given, NULL), 0);
    int fd = launch_spec_make(&environment, &words, NULL);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(fcntl(fd, F_GETFD), FD_CLOEXEC);
    for (int i = 0; i < 2; i++) { /* whether or not it was read before */
        cleanup_argv struct argv variables = {0};
        cleanup_argv struct argv program = {0};
        CU_ASSERT_EQUAL(launch_spec_read(fd, &variables, &program, NULL), 0);
        CU_ASSERT_EQUAL(variables.count, 2);
        CU_ASSERT_STRING_EQUAL(argv_get_env(&variables, "B"), "line\nline");
        CU_ASSERT_EQUAL_FATAL(program.count, words.count);
        for (size_t w = 0; w < words.count; w++)
            CU_ASSERT_STRING_EQUAL(program.items[w], given[w]);
    }
    (void)close(fd);
}

static void what_no_program_could_be_given_is_refused(void) {
    static char value[100000];
    cleanup_argv struct argv environment = {0};
    cleanup_argv struct argv words = {0};
    struct error err = {0};
    CU_ASSERT_EQUAL(argv_add(&words, "true", NULL), 0);
    memset(value, 'v', sizeof(value) - 1);
    for (int i = 0; i < 70; i++) {
        char name[24];
        (void)snprintf(name, sizeof(name), "NAME_%d", i);
        CU_ASSERT_EQUAL(argv_set_env(&environment, name, value, NULL), 0);
    }
    CU_ASSERT_EQUAL(argv_set_env(&environment, "SM_HP_LARGEST", value, NULL), 0);
    CU_ASSERT_EQUAL(launch_spec_make(&environment, &words, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "the largest variable is SM_HP_LARGEST;");
    CU_ASSERT_PTR_NULL(strstr(err.text, "vvv"));
}

/* COUNT variables of 50,000 bytes, with that limit of the stack. */
static int make_below(rlim_t stack, int count, struct error *err) {
    static char value[50000];
    cleanup_argv struct argv environment = {0};
    cleanup_argv struct argv words = {0};
    struct rlimit before = {0};
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_STACK, &before), 0);
    memset(value, 'v', sizeof(value) - 1);
    CU_ASSERT_EQUAL(argv_add(&words, "true", NULL), 0);
    for (int i = 0; i < count; i++) {
        char name[24];
        (void)snprintf(name, sizeof(name), "NAME_%d", i);
        CU_ASSERT_EQUAL(argv_set_env(&environment, name, value, NULL), 0);
    }
    struct rlimit limit = {.rlim_cur = stack, .rlim_max = before.rlim_max};
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_STACK, &limit), 0);
    int fd = launch_spec_make(&environment, &words, err);
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_STACK, &before), 0);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0 ? 0 : -1;
}

static void the_stacks_limit_says_how_much_a_program_gets(void) {
    struct error err = {0};
    CU_ASSERT_EQUAL(make_below(1024 * 1024, 4, &err), 0);
    CU_ASSERT_EQUAL(make_below(1024 * 1024, 5, &err), -1);
    ASSERT_CONTAINS(err.text, "Linux passes at most 262144 here");
    CU_ASSERT_EQUAL(make_below(256 * 1024, 1, &err), 0); /* 128 KiB at least */
    CU_ASSERT_EQUAL(make_below(256 * 1024, 2, &err), -1);
    ASSERT_CONTAINS(err.text, "Linux passes at most 131072 here");
}

static void nobody_can_change_it(void) {
    cleanup_argv struct argv environment = {0};
    cleanup_argv struct argv words = {0};
    CU_ASSERT_EQUAL(argv_add(&words, "true", NULL), 0);
    int fd = launch_spec_make(&environment, &words, NULL);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(pwrite(fd, "9", 1, 0), -1);
    CU_ASSERT_EQUAL(ftruncate(fd, 0), -1);
    CU_ASSERT_EQUAL(ftruncate(fd, 1 << 20), -1);
    CU_ASSERT_EQUAL(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    (void)close(fd);
}

static void is_refused(const char *bytes, size_t size, int seals) {
    cleanup_argv struct argv environment = {0};
    cleanup_argv struct argv words = {0};
    struct error err = {0};
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CU_ASSERT_EQUAL(write(fd, bytes, size), (ssize_t)size);
    CU_ASSERT_EQUAL(fcntl(fd, F_ADD_SEALS, seals), 0);
    CU_ASSERT_EQUAL(launch_spec_read(fd, &environment, &words, &err), -1);
    ASSERT_CONTAINS(err.text, "no environment");
    (void)close(fd);
}

static void anything_else_is_refused(void) {
    const int all = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    cleanup_argv struct argv words = {0};
    struct error err = {0};
    is_refused("0\0true", 7, F_SEAL_SEAL); /* it might change yet */
    is_refused("0\0true", 6, all);         /* no end */
    is_refused("x\0true", 7, all);         /* no number */
    is_refused("-1\0true", 8, all);
    is_refused("1\0A=b", 6, all); /* no word */
    is_refused("", 1, all);
    CU_ASSERT_EQUAL(launch_spec_read(-1, &words, &words, &err), -1);
}

UNIT_SUITE("host.launch_spec", UNIT(words_and_variables_arrive_as_they_were),
           UNIT(what_no_program_could_be_given_is_refused),
           UNIT(the_stacks_limit_says_how_much_a_program_gets), UNIT(nobody_can_change_it),
           UNIT(anything_else_is_refused))
