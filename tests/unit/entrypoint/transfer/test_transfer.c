#include "entrypoint/transfer/transfer.h"

#include "common/exit_code.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char name[] = "ringmaster-transfer";
static char version[] = "version";
static char outside[] = "1";

/* It changes its process, so each call has one of its own; what it printed on FROM is in TEXT. */
static int call(char **argv, int argc, int from, char text[4096]) {
    int ends[2];
    int status = 0;
    size_t size = 0;
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    (void)fflush(NULL);
    pid_t child = fork();
    CU_ASSERT_FATAL(child >= 0);
    if (child == 0) {
        (void)dup2(ends[1], from);
        (void)close(ends[1]);
        _exit(transfer_main(argc, argv));
    }
    (void)close(ends[1]);
    for (ssize_t got; (got = read(ends[0], text + size, 4095 - size)) > 0;)
        size += (size_t)got;
    text[size] = '\0';
    (void)close(ends[0]);
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void it_tells_the_versions_of_its_libraries(void) {
    static const char *const libraries[] = {"libcurl ", "libcurl's TLS ", "libarchive ", "Expat "};
    char *argv[] = {name, version, NULL};
    char text[4096];
    CU_ASSERT_EQUAL(call(argv, 2, STDOUT_FILENO, text), EXIT_CODE_OK);
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
        ASSERT_CONTAINS(text, libraries[i]);
}

static void without_an_order_it_does_nothing(void) {
    char *none[] = {name, NULL};
    char *no_descriptor[] = {name, outside, NULL};
    char text[4096];
    CU_ASSERT_EQUAL(call(none, 1, STDERR_FILENO, text), EXIT_CODE_USAGE);
    ASSERT_CONTAINS(text, "is started by ringmaster and ringtrain, with an order");
    CU_ASSERT_EQUAL(call(no_descriptor, 2, STDERR_FILENO, text), EXIT_CODE_USAGE);
    ASSERT_CONTAINS(text, "is started by ringmaster and ringtrain, with an order");
}

UNIT_SUITE("transfer.transfer", UNIT(it_tells_the_versions_of_its_libraries),
           UNIT(without_an_order_it_does_nothing))
