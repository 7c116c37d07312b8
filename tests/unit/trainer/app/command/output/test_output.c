#include "trainer/app/command/output/output.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct error err;

/* Standard output goes to PATH while WRITE runs. */
static int written_to(const char *path, int (*write_it)(void)) {
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    FILE *file = fopen(path, "w");
    CU_ASSERT_FATAL(saved >= 0 && file != NULL);
    dup2(fileno(file), STDOUT_FILENO);
    int result = write_it();
    clearerr(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    fclose(file);
    return result;
}

static int one_text(void) {
    return output_text("a text\n", &err);
}

static int much_text(void) {
    static char text[1 << 17];
    memset(text, 'x', sizeof(text) - 1);
    return output_text(text, &err);
}

/* A write of before has failed, and what failed it is gone. */
static int lost_text(void) {
    static char text[1 << 17];
    memset(text, 'x', sizeof(text) - 1);
    (void)fputs(text, stdout);
    FILE *good = fopen("/dev/null", "w");
    dup2(fileno(good), STDOUT_FILENO);
    fclose(good);
    return output_finish(&err);
}

static void what_is_written_is_all_there(void) {
    char path[600], text[100] = "";
    snprintf(path, sizeof(path), "%s/out", unit_temp_dir());
    CU_ASSERT_EQUAL(written_to(path, one_text), 0);
    FILE *file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fread(text, 1, sizeof(text) - 1, file), 7);
    CU_ASSERT_STRING_EQUAL(text, "a text\n");
    fclose(file);
    CU_ASSERT_EQUAL(written_to(path, much_text), 0);
}

static void a_full_disk_is_an_error(void) {
    int (*const writers[])(void) = {one_text, much_text};
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(written_to("/dev/full", writers[i]), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, "writing to standard output: No space left on device");
    }
}

static void what_was_lost_before_is_not_forgotten(void) {
    CU_ASSERT_EQUAL(written_to("/dev/full", lost_text), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "writing to standard output");
}

UNIT_SUITE("command.output", UNIT(what_is_written_is_all_there), UNIT(a_full_disk_is_an_error),
           UNIT(what_was_lost_before_is_not_forgotten))
