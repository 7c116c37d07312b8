#include "common/os_error_text.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <string.h>

static void words_are_those_of_strerror(void) {
    static const int numbers[] = {0, ENOENT, EACCES, ENOSPC, ECONNREFUSED};
    char room[OS_ERROR_TEXT_SIZE];
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        CU_ASSERT_STRING_EQUAL(os_error_text(numbers[i], room), strerror(numbers[i]));
}

static void an_unknown_number_has_words_too(void) {
    char room[OS_ERROR_TEXT_SIZE];
    ASSERT_CONTAINS(os_error_text(99999, room), "nknown error");
}

UNIT_SUITE("common.os_error_text", UNIT(words_are_those_of_strerror),
           UNIT(an_unknown_number_has_words_too))
