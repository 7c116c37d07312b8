#include "entrypoint/host/ranks/rank_evidence.h"
#include "tests/support/unit.h"

#include <signal.h>
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

static void what_was_printed_is_the_exception(void) {
    static const char lines[] =
        "Traceback (most recent call last):\n  File \"train.py\", line 3, in f\n"
        "ValueError: printed\n";
    static const struct {
        struct rank_report report;
        const char *evidence;
    } rows[] = {
        {{.end = RANK_EXITED, .value = 1}, "ValueError: printed (train.py, line 3)"},
        {{.end = RANK_SIGNALLED, .value = SIGABRT}, "ValueError: printed (train.py, line 3)"},
        /* what killed it has said nothing */
        {{.end = RANK_SIGNALLED, .value = SIGKILL}, ""},
        {{.end = RANK_SIGNALLED, .value = SIGTERM}, ""},
        {{.end = RANK_EXITED, .value = 1, .cause = RANK_CAUSE_TEARDOWN}, ""},
        {{.end = RANK_EXITED, .value = 1, .evidence = "ValueError: of the file"},
         "ValueError: of the file"},
    };
    static const struct traceback_folders folders;
    struct traceback printed, nothing;
    traceback_init(&printed, &folders);
    traceback_init(&nothing, &folders);
    traceback_add_text(&printed, lines);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rank_report r = rows[i].report;
        rank_evidence_printed(&printed, &nothing, &r);
        CU_ASSERT_STRING_EQUAL(r.evidence, rows[i].evidence);
        r = rows[i].report;
        rank_evidence_printed(&nothing, &printed, &r);
        CU_ASSERT_STRING_EQUAL(r.evidence, rows[i].evidence);
    }
}

UNIT_SUITE("host.rank_evidence", UNIT(what_the_kernel_said_comes_before_the_exception),
           UNIT(what_was_printed_is_the_exception))
