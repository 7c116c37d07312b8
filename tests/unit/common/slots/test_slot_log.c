#include "common/slots/slot_log.h"

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[32];

static void write_log(const char *bytes, size_t size) {
    char path[64];
    struct error err = {0};
    (void)snprintf(path, sizeof(path), "%s/rank-2.log", folder);
    CU_ASSERT_EQUAL_FATAL(file_put(path, bytes, size, 0644, &err), 0);
}

static void says(const char *text, const char *last) {
    char words[16];
    write_log(text, strlen(text));
    slot_log_last(folder, 2, words, sizeof(words));
    CU_ASSERT_STRING_EQUAL(words, last);
}

static void the_last_error_or_line_is_found(void) {
    char words[16] = "x";
    (void)snprintf(folder, sizeof(folder), "/tmp/slot-log-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    slot_log_last(folder, 2, words, sizeof(words));
    CU_ASSERT_STRING_EQUAL(words, "");
    says("", "");
    says("one\ntwo\n", "two");
    says("one\ntwo", "two");
    says("12:00 error   broken\nmore\n", "broken");
    says("0123456789abcdefgh\n", "0123456789abcde");
    says("01234567890123\xc3\xa4\n", "01234567890123");
    write_log("a\x01\xff\n", 4);
    slot_log_last(folder, 2, words, sizeof(words));
    CU_ASSERT_STRING_EQUAL(words, "a?\xef\xbf\xbd");
}

UNIT_SUITE("common.slots.slot_log", UNIT(the_last_error_or_line_is_found))
