#include "trainer/app/options/near_file.h"

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char text[NEAR_FILE_WORDS_MAX];

static void make(const char *name) {
    char path[600];
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), name);
    CU_ASSERT_EQUAL_FATAL(file_put(path, "", 0, 0600, NULL), 0);
}

static void go_there(void) {
    make("flowers");
    make("model.safetensors");
    char folder[600];
    (void)snprintf(folder, sizeof(folder), "%s/photos", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(folder, NULL), 0);
    make("photos/cat.jpg");
    CU_ASSERT_EQUAL_FATAL(chdir(unit_temp_dir()), 0);
}

static void the_nearest_file_is_named(void) {
    go_there();
    CU_ASSERT_STRING_EQUAL(near_file_words("flower", text), "; did you mean flowers?");
    CU_ASSERT_STRING_EQUAL(near_file_words("photos/cta.jpg", text),
                           "; did you mean photos/cat.jpg?");
    CU_ASSERT_STRING_EQUAL(near_file_words("phots/cat.jpg", text),
                           "; did you mean photos/cat.jpg?");
    char path[600], wanted[700];
    (void)snprintf(path, sizeof(path), "%s/floers", unit_temp_dir());
    (void)snprintf(wanted, sizeof(wanted), "; did you mean %s/flowers?", unit_temp_dir());
    CU_ASSERT_STRING_EQUAL(near_file_words(path, text), wanted);
}

static void what_is_there_or_far_has_no_words(void) {
    go_there();
    CU_ASSERT_STRING_EQUAL(near_file_words("flowers", text), "");
    CU_ASSERT_STRING_EQUAL(near_file_words("other", text), "");
    CU_ASSERT_STRING_EQUAL(near_file_words("", text), "");
    CU_ASSERT_STRING_EQUAL(near_file_words("flowers/x", text), ""); /* below a file */
}

static void the_word_that_an_error_names_counts(void) {
    go_there();
    char command[] = "--init=modle.safetensors", other[] = "nothing", data[] = "flowes";
    char *const words[] = {other, command, data};
    CU_ASSERT_STRING_EQUAL(near_file_of("--init: modle.safetensors: No such file", words, 3, text),
                           "; did you mean model.safetensors?");
    CU_ASSERT_STRING_EQUAL(near_file_of("flowes: No such file", words, 3, text),
                           "; did you mean flowers?");
    CU_ASSERT_STRING_EQUAL(near_file_of("flowes", words, 3, text), "; did you mean flowers?");
    CU_ASSERT_STRING_EQUAL(near_file_of("flowest: No such file", words, 3, text), "");
    CU_ASSERT_STRING_EQUAL(near_file_of("out of memory", words, 3, text), "");
    CU_ASSERT_STRING_EQUAL(near_file_of("flowes; did you mean x?", words, 3, text), "");
}

static void words_that_are_no_paths_get_none(void) {
    go_there();
    char batch[] = "64", choice[] = "flowes", set[] = "flowrs";
    char *const words[] = {batch, choice, set};
    CU_ASSERT_STRING_EQUAL(
        near_file_of("memory: 9 MiB needed for --batch-size 64, 2 MiB there", words, 3, text), "");
    CU_ASSERT_STRING_EQUAL(near_file_of("memory: --batch-size 64: too much", words, 3, text), "");
    CU_ASSERT_STRING_EQUAL(near_file_of("--publish: unknown value 'flowes'", words, 3, text), "");
    CU_ASSERT_STRING_EQUAL(near_file_of("no set 'flowrs' (--val-set)", words, 3, text), "");
    CU_ASSERT_STRING_EQUAL(near_file_of("no flowes there", words, 3, text), "");
}

UNIT_SUITE("app.near_file", UNIT(the_nearest_file_is_named),
           UNIT(what_is_there_or_far_has_no_words), UNIT(the_word_that_an_error_names_counts),
           UNIT(words_that_are_no_paths_get_none))
