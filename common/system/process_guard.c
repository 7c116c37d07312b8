#include "common/system/process_guard.h"

#include <sys/prctl.h>

void process_guard_forbid_inspection(void) {
    (void)prctl(PR_SET_DUMPABLE, 0);
}
