#include "common/signal_name.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <string.h>

/* Real-time signals are numbers from 32 on. */
static void names_are_those_of_glibc(void) {
    for (int i = 1; i < 32; i++) {
        const char *name = signal_name(i);
        CU_ASSERT_PTR_NOT_NULL_FATAL(name);
        CU_ASSERT_STRING_EQUAL(name, sigabbrev_np(i));
    }
}

static void other_numbers_have_none(void) {
    const int numbers[] = {-1, 0, 32, SIGRTMAX, 1 << 30};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        CU_ASSERT_PTR_NULL(signal_name(numbers[i]));
}

UNIT_SUITE("common.signal_name", UNIT(names_are_those_of_glibc), UNIT(other_numbers_have_none))
