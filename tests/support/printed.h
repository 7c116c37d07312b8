/* Output of a command, captured in a file. */
#ifndef TESTS_SUPPORT_PRINTED_H
#define TESTS_SUPPORT_PRINTED_H

#include "common/error.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <unistd.h>

/* Runs COMMAND with standard output going to the file PATH; what it returns. */
static inline int printed_to(const char *path,
                             int (*command)(int argc, char *const *argv, struct error *err),
                             int argc, char *const *argv, struct error *err) {
    (void)fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    FILE *out = fopen(path, "w");
    CU_ASSERT_FATAL(saved >= 0 && out != NULL);
    (void)dup2(fileno(out), STDOUT_FILENO);
    int result = command(argc, argv, err);
    (void)fflush(stdout);
    (void)dup2(saved, STDOUT_FILENO);
    (void)close(saved);
    (void)fclose(out);
    return result;
}

#endif
