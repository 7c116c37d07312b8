#include "entrypoint/host/ranks/core_file.h"
#include "tests/support/unit.h"

#include <signal.h>

static const char *words(const char *pattern, bool limited) {
    static char text[256];
    core_file_words(pattern, limited, text, sizeof(text));
    return text;
}

static void signals_that_dump_are_distinguished_from_others(void) {
    CU_ASSERT(core_file_is_due(SIGSEGV) && core_file_is_due(SIGABRT) && core_file_is_due(SIGBUS));
    CU_ASSERT(!core_file_is_due(SIGKILL) && !core_file_is_due(SIGTERM));
}

static void the_place_follows_from_pattern_and_limit(void) {
    CU_ASSERT_STRING_EQUAL(words("core\n", false), "in the rank's folder, as core");
    CU_ASSERT_STRING_EQUAL(words("/var/core/%e.%p\n", false), "/var/core/%e.%p");
    ASSERT_CONTAINS(words("core\n", true), "the limit is 0");
    /* A program gets it whatever the limit. */
    CU_ASSERT_STRING_EQUAL(words("|/usr/share/apport/apport -p%p\n", true),
                           "the machine's /usr/share/apport/apport has got it, outside of the "
                           "container");
    CU_ASSERT_STRING_EQUAL(words("|/bin/false", false),
                           "the machine's /bin/false has got it, outside of the container");
    CU_ASSERT_STRING_EQUAL(words("\n", false), "");
}

static void long_patterns_are_cut(void) {
    char text[8];
    core_file_words("/a/very/long/pattern", false, text, sizeof(text));
    CU_ASSERT_STRING_EQUAL(text, "/a/very");
}

UNIT_SUITE("host.ranks.core_file", UNIT(signals_that_dump_are_distinguished_from_others),
           UNIT(the_place_follows_from_pattern_and_limit), UNIT(long_patterns_are_cut))
