#include "common/system/process_guard.h"

#include "tests/support/unit.h"

#include <sys/prctl.h>

static void a_guarded_process_cannot_be_dumped(void) {
    CU_ASSERT_EQUAL_FATAL(prctl(PR_SET_DUMPABLE, 1), 0);
    process_guard_forbid_inspection();
    CU_ASSERT_EQUAL(prctl(PR_GET_DUMPABLE), 0);
    CU_ASSERT_EQUAL(prctl(PR_SET_DUMPABLE, 1), 0);
}

UNIT_SUITE("common.process_guard", UNIT(a_guarded_process_cannot_be_dumped))
