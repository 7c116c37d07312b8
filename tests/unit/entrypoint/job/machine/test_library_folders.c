#include "entrypoint/job/machine/library_folders.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { WHOLE_SIZE = 3 * PATH_MAX };

static const char *const usual[] = {"/usr/local/lib", "/usr/lib64", NULL};

/* All folders found with VARIABLE set, each followed by "|". */
static const char *all_of(const char *root, char *variable, const char *const *last) {
    static char text[WHOLE_SIZE];
    char *environment[] = {variable, NULL};
    struct library_folders folders;
    library_folders_begin(&folders, root, environment, last);
    text[0] = '\0';
    for (const char *at; (at = library_folders_next(&folders)) != NULL;)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s|", at);
    CU_ASSERT_PTR_NULL(library_folders_next(&folders)); /* and it stays at the end */
    return text;
}

static void the_variables_come_first_in_their_order(void) {
    static char two[] = "LD_LIBRARY_PATH=/z:/a", again[] = "LD_LIBRARY_PATH=/usr/lib64:/a:/a",
                mixed[] = "LD_LIBRARY_PATH=/z;/a:/m";
    CU_ASSERT_STRING_EQUAL(all_of("", two, usual), "/z|/a|/usr/local/lib|/usr/lib64|");
    CU_ASSERT_STRING_EQUAL(all_of("", again, usual), "/usr/lib64|/a|/a|/usr/local/lib|/usr/lib64|");
    CU_ASSERT_STRING_EQUAL(all_of("", mixed, usual), "/z|/a|/m|/usr/local/lib|/usr/lib64|");
}

static void without_the_variable_there_are_the_usual_ones(void) {
    static const char *const no_usual[] = {NULL};
    static char other[] = "LD_LIBRARY_PATHS=/a",
                empty[] = "LD_LIBRARY_PATH=", one[] = "LD_LIBRARY_PATH=/a";
    CU_ASSERT_STRING_EQUAL(all_of("", other, usual), "/usr/local/lib|/usr/lib64|");
    CU_ASSERT_STRING_EQUAL(all_of("", empty, usual), "/usr/local/lib|/usr/lib64|");
    CU_ASSERT_STRING_EQUAL(all_of("", empty, no_usual), "");
    CU_ASSERT_STRING_EQUAL(all_of("", one, no_usual), "/a|");
}

/* As ld.so says of them. */
static void empty_and_relative_ones_are_from_here(void) {
    static char empties[] = "LD_LIBRARY_PATH=:/a::/b:", alone[] = "LD_LIBRARY_PATH=:",
                relative[] = "LD_LIBRARY_PATH=lib:../up:/a";
    CU_ASSERT_STRING_EQUAL(all_of("", empties, usual), ".|/a|.|/b|.|/usr/local/lib|/usr/lib64|");
    CU_ASSERT_STRING_EQUAL(all_of("", alone, usual), ".|.|/usr/local/lib|/usr/lib64|");
    CU_ASSERT_STRING_EQUAL(all_of("", relative, usual), "lib|../up|/a|/usr/local/lib|/usr/lib64|");
}

static void a_root_is_in_front_of_absolute_ones(void) {
    static char mixed[] = "LD_LIBRARY_PATH=/a:lib:";
    CU_ASSERT_STRING_EQUAL(all_of("/root", mixed, usual),
                           "/root/a|lib|.|/root/usr/local/lib|/root/usr/lib64|");
}

/* With its end a path has PATH_MAX bytes; the root counts. */
static void those_that_no_path_holds_are_left_out(void) {
    static char variable[WHOLE_SIZE] = "LD_LIBRARY_PATH=/a:/", longest[PATH_MAX] = "/",
                expected[WHOLE_SIZE];
    static const char *const last[] = {longest, "/usr/lib64", NULL};
    char *end = variable + strlen(variable);
    memset(longest + 1, 'x', PATH_MAX - 2);
    memset(end, 'y', PATH_MAX - 1);
    (void)snprintf(end + PATH_MAX - 1, 8, ":/b");
    (void)snprintf(expected, sizeof(expected), "/a|/b|%s|/usr/lib64|", longest);
    CU_ASSERT_STRING_EQUAL(all_of("", variable, last), expected);
    CU_ASSERT_STRING_EQUAL(all_of("/r", variable, last), "/r/a|/r/b|/r/usr/lib64|");
}

/* A program that looks for them sees that they are missing. */
static void missing_ones_come_like_others(void) {
    static char variable[4096], expected[4096];
    (void)snprintf(variable, sizeof(variable), "LD_LIBRARY_PATH=%s/missing:%s", unit_temp_dir(),
                   unit_temp_dir());
    (void)snprintf(expected, sizeof(expected), "%s/missing|%s|/usr/local/lib|/usr/lib64|",
                   unit_temp_dir(), unit_temp_dir());
    CU_ASSERT_STRING_EQUAL(all_of("", variable, usual), expected);
}

UNIT_SUITE("job.library_folders", UNIT(the_variables_come_first_in_their_order),
           UNIT(without_the_variable_there_are_the_usual_ones),
           UNIT(empty_and_relative_ones_are_from_here), UNIT(a_root_is_in_front_of_absolute_ones),
           UNIT(those_that_no_path_holds_are_left_out), UNIT(missing_ones_come_like_others))
