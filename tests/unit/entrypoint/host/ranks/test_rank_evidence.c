#include "common/clock.h"
#include "entrypoint/host/ranks/rank_evidence.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

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
    for (int stream = 0; stream < 2; stream++) {
        struct rank_exception printed;
        rank_exception_init(&printed, &folders);
        for (const char *line = lines; *line != '\0'; line += strcspn(line, "\n") + 1)
            rank_exception_take(&printed, stream == 1, line, strcspn(line, "\n"));
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            struct rank_report r = rows[i].report;
            rank_evidence_printed(&printed, &r);
            CU_ASSERT_STRING_EQUAL(r.evidence, rows[i].evidence);
        }
    }
}

static void that_standard_error_was_closed_is_told(void) {
    static const int64_t now = 100 * CLOCK_SECOND;
    static const char told[] =
        "stderr: the program closed or redirected it 30 s before its end: its "
        "last words are not here";
    static const struct {
        struct rank_report report;
        int64_t closed;
        const char *evidence;
    } rows[] = {
        {{.end = RANK_EXITED, .value = 1}, now - 30 * CLOCK_SECOND, told},
        {{.end = RANK_EXITED, .value = 1}, now - CLOCK_SECOND, ""}, /* as it ended */
        {{.end = RANK_EXITED, .value = 1}, 0, ""},
        {{.end = RANK_SIGNALLED, .value = SIGKILL}, now - 30 * CLOCK_SECOND, ""},
        {{.end = RANK_EXITED, .value = 1, .cause = RANK_CAUSE_STOP}, now - 30 * CLOCK_SECOND, ""},
        {{.end = RANK_EXITED, .value = 1, .evidence = "exception: x"},
         now - 30 * CLOCK_SECOND,
         "exception: x"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rank_report r = rows[i].report;
        rank_evidence_closed(rows[i].closed, now, &r);
        CU_ASSERT_STRING_EQUAL(r.evidence, rows[i].evidence);
    }
    struct rank_report r = {.end = RANK_EXITED, .value = 1, .evidence = "kernel: x"};
    rank_evidence_closed(now - 30 * CLOCK_SECOND, now, &r);
    CU_ASSERT_EQUAL(strncmp(r.evidence, "kernel: x\nstderr: ", 18), 0);
}

UNIT_SUITE("host.rank_evidence", UNIT(what_the_kernel_said_comes_before_the_exception),
           UNIT(what_was_printed_is_the_exception), UNIT(that_standard_error_was_closed_is_told))
