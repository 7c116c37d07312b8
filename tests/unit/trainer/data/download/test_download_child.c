#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/data/download/download_child.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static char marks[256];
static char words[256];

static void take_mark(void *context, const char *line) {
    (void)context;
    (void)snprintf(marks + strlen(marks), sizeof(marks) - strlen(marks), "%s|", line);
}

static void take_word(void *context, const char *line) {
    (void)context;
    (void)snprintf(words + strlen(words), sizeof(words) - strlen(words), "%s|", line);
}

static const char *program_of(const char *name, const char *script) {
    static char path[PATH_MAX];
    char text[1024];
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), name);
    int size = snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", script);
    CU_ASSERT_EQUAL_FATAL(file_publish(path, text, (size_t)size, 0755, NULL), 0);
    return path;
}

/* Runs a shell script in the program's place. */
static int run(const char *script, int64_t seconds, struct error *err) {
    const struct download_child_options options = {.program = program_of("program", script),
                                                   .order = "{\"an\": \"order\"}",
                                                   .seconds = seconds,
                                                   .mark = take_mark,
                                                   .say = take_word};
    marks[0] = words[0] = '\0';
    return download_child_run(&options, err);
}

static void it_gets_its_order_and_its_lines_arrive(void) {
    struct error err = {0};
    CU_ASSERT_EQUAL(
        run("cat /proc/self/fd/3; echo; echo 1 2; printf '3 4\\n'; echo first >&2; echo last >&2",
            60, &err),
        0);
    CU_ASSERT_STRING_EQUAL(marks, "{\"an\": \"order\"}|1 2|3 4|");
    CU_ASSERT_STRING_EQUAL(words, "first|last|");
}

static void its_environment_is_empty(void) {
    struct error err = {0};
    CU_ASSERT_EQUAL(run("env | grep -v -e ^PWD= -e ^_= -e ^SHLVL=", 60, &err), 0);
    CU_ASSERT_STRING_EQUAL(marks, "LANG=C.UTF-8|");
}

static void its_last_line_and_code_are_the_error(void) {
    static const struct {
        const char *script;
        enum exit_code code;
        const char *text;
    } rows[] = {
        {"echo one >&2; echo two >&2; exit 66", EXIT_CODE_DATA, "two"},
        {"echo no room >&2; exit 65", EXIT_CODE_CONFIG, "no room"},
        {"printf unended >&2; exit 3", EXIT_CODE_INTERNAL, "unended"},
        {"exit 5", EXIT_CODE_INTERNAL, "ended with 5"},
        {"kill -KILL $$", EXIT_CODE_INTERNAL, "killed by signal 9"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(run(rows[i].script, 60, &err), -1);
        CU_ASSERT_EQUAL(err.code, rows[i].code);
        ASSERT_CONTAINS(err.text, rows[i].text);
    }
}

static void lines_of_any_size_do_no_harm(void) {
    struct error err = {0};
    CU_ASSERT_EQUAL(run("head -c 100000 /dev/zero | tr '\\0' x >&2; exit 66", 60, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
}

static void one_that_stays_is_ended(void) {
    struct error err = {0};
    CU_ASSERT_EQUAL(run("exec sleep 60", 1, &err), -1);
    ASSERT_CONTAINS(err.text, "not fetched within 1 seconds");
}

static void what_cannot_be_started_is_told(void) {
    struct error err = {0};
    const struct download_child_options options = {.program = "/nowhere/program",
                                                   .order = "{}",
                                                   .seconds = 60,
                                                   .mark = take_mark,
                                                   .say = take_word};
    CU_ASSERT_EQUAL(download_child_run(&options, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_NOT_EXECUTABLE);
}

static void it_is_looked_for_in_path(void) {
    char list[PATH_MAX];
    char found[PATH_MAX];
    struct error err = {0};
    (void)snprintf(list, sizeof(list), "/nowhere::%s", unit_temp_dir());
    CU_ASSERT_EQUAL(download_child_find("/nowhere:", found, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_NOT_FOUND);
    ASSERT_CONTAINS(err.text, "fetch the archive yourself and give its path");
    CU_ASSERT_EQUAL(download_child_find(NULL, found, &err), -1);
    const char *program = program_of("ringmaster-transfer", "exit 0");
    CU_ASSERT_EQUAL(download_child_find(list, found, &err), 0);
    CU_ASSERT_STRING_EQUAL(found, program);
}

UNIT_SUITE("data.download.download_child", UNIT(it_gets_its_order_and_its_lines_arrive),
           UNIT(its_environment_is_empty), UNIT(its_last_line_and_code_are_the_error),
           UNIT(lines_of_any_size_do_no_harm), UNIT(one_that_stays_is_ended),
           UNIT(what_cannot_be_started_is_told), UNIT(it_is_looked_for_in_path))
