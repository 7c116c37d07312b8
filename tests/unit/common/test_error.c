#include "common/error.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <string.h>

static void set_fills_code_and_text_and_returns_minus_one(void) {
    struct error err = {0};
    CU_ASSERT_EQUAL(error_set(&err, EXIT_CODE_DATA, "%s: %d", "file", 7), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    CU_ASSERT_EQUAL(err.os_errno, 0);
    CU_ASSERT_STRING_EQUAL(err.text, "file: 7");
}

static void set_errno_appends_the_words_and_keeps_errno(void) {
    struct error err = {0};
    errno = ENOENT;
    error_set_errno(&err, EXIT_CODE_CONFIG, "%s", "/nowhere");
    CU_ASSERT_EQUAL(errno, ENOENT);
    CU_ASSERT_EQUAL(err.os_errno, ENOENT);
    CU_ASSERT_STRING_EQUAL(err.text, "/nowhere: No such file or directory");
}

static void wrap_puts_context_in_front_and_keeps_the_code(void) {
    struct error err = {0};
    error_set(&err, EXIT_CODE_DATA, "short");
    error_wrap(&err, "reading %s", "x");
    CU_ASSERT_STRING_EQUAL(err.text, "reading x: short");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
}

static void texts_longer_than_the_buffer_are_cut(void) {
    char big[2 * ERROR_TEXT_MAX];
    memset(big, 'a', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    struct error err = {0};
    error_set(&err, EXIT_CODE_DATA, "%s", big);
    CU_ASSERT_EQUAL(strlen(err.text), ERROR_TEXT_MAX - 1);
    error_wrap(&err, "%s", big);
    CU_ASSERT_EQUAL(strlen(err.text), ERROR_TEXT_MAX - 1);
    errno = EIO;
    error_set_errno(&err, EXIT_CODE_DATA, "%s", big);
    CU_ASSERT_EQUAL(strlen(err.text), ERROR_TEXT_MAX - 1);
}

static void a_null_error_is_fine(void) {
    CU_ASSERT_EQUAL(error_set(NULL, EXIT_CODE_DATA, "x"), -1);
    CU_ASSERT_EQUAL(error_wrap(NULL, "x"), -1);
    CU_ASSERT_EQUAL(error_recode(NULL, EXIT_CODE_DATA), -1);
    CU_ASSERT_EQUAL(error_no_memory(NULL, "x"), -1);
    struct error err = {0};
    CU_ASSERT_EQUAL(error_recode(&err, EXIT_CODE_DATA), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    CU_ASSERT_EQUAL(error_no_memory(&err, "x"), -1);
    CU_ASSERT(err.os_errno == ENOMEM && err.code == EXIT_CODE_CONFIG);
}

UNIT_SUITE("common.error", UNIT(set_fills_code_and_text_and_returns_minus_one),
           UNIT(set_errno_appends_the_words_and_keeps_errno),
           UNIT(wrap_puts_context_in_front_and_keeps_the_code),
           UNIT(texts_longer_than_the_buffer_are_cut), UNIT(a_null_error_is_fine))
