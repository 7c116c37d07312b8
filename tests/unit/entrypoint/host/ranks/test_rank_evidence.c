#include "entrypoint/host/ranks/rank_evidence.h"
#include "tests/support/unit.h"

#include <stdio.h>

static void what_the_kernel_said_comes_before_the_exception(void) {
    struct kmsg kernel = {.fd = -1};
    struct rank_report r = {.end = RANK_SIGNALLED};
    rank_evidence_add(&kernel, &r);
    CU_ASSERT_STRING_EQUAL(r.evidence, "");
    kmsg_take(&kernel, "NVRM: Xid (PCI:0000:41:00): 79, told by NVML");
    kmsg_take(&kernel, "nothing that matters");
    (void)snprintf(r.evidence, sizeof(r.evidence), "ValueError: x (train.py:3)");
    rank_evidence_add(&kernel, &r);
    CU_ASSERT_STRING_EQUAL(r.evidence, "kernel: NVRM: Xid (PCI:0000:41:00): 79, told by NVML\n"
                                       "exception: ValueError: x (train.py:3)");
}

UNIT_SUITE("host.rank_evidence", UNIT(what_the_kernel_said_comes_before_the_exception))
