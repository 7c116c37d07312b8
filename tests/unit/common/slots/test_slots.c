/* Slots of a single rank: processes that end well, fail, hang and are ended. */
#include "common/slots/slots.h"

#include "common/clock.h"
#include "common/slots/slot_log.h"
#include "tests/support/alone_group.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[32];

static void make_folder(void) {
    (void)snprintf(folder, sizeof(folder), "/tmp/slots-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
}

static void run_until_ended(struct slots *s, int first, int size) {
    struct error err = {0};
    const int64_t until = clock_now() + 60 * CLOCK_SECOND;
    while (slots_running(s, first, size) && clock_now() < until)
        CU_ASSERT_EQUAL_FATAL(slots_round(s, &err), 0);
    CU_ASSERT_FALSE(slots_running(s, first, size));
}

static void start(struct slots *s, int first, int size, const char *script) {
    struct error err = {0};
    char path[64];
    const char *const argv[] = {"sh", "-c", script, NULL};
    (void)snprintf(path, sizeof(path), "%s/%d", folder, first);
    const struct slot_job job = {first, size, path, "test", argv, NULL};
    CU_ASSERT_EQUAL_FATAL(slots_start(s, &job, &err), 0);
}

static void read_figure(void *context, const char *path, int code, double figures[SLOTS_FIGURES]) {
    (void)context, (void)path;
    figures[0] = 100 + code;
}

static void a_slice_has_ranks_and_an_end(void) {
    const struct slot_group group = alone_group();
    struct error err = {0};
    cleanup_slots struct slots s = {0};
    char words[64];
    int rank = -1;
    make_folder();
    CU_ASSERT_EQUAL_FATAL(slots_open(&s, &group, 3, &err), 0);
    s.read = read_figure;
    CU_ASSERT_EQUAL(slots_hosts(&s, 0, 3), 1);
    /* Two ranks of a slice, of which the second fails; and one that is alone. */
    start(&s, 0, 2, "echo $RANK of $WORLD_SIZE at $MASTER_ADDR; exit $((RANK * 7))");
    start(&s, 2, 1, "echo \"alone ${WORLD_SIZE-yes}\"; echo 'x error   it broke'; kill -SEGV $$");
    run_until_ended(&s, 0, 3);
    CU_ASSERT_EQUAL(slots_code(&s, 0, 2, &rank), 7);
    CU_ASSERT_EQUAL(rank, 1);
    CU_ASSERT_EQUAL(slots_code(&s, 2, 1, &rank), 128 + 11);
    CU_ASSERT_DOUBLE_EQUAL(s.reports[0].figures[0], 100, 0);
    CU_ASSERT_DOUBLE_EQUAL(s.reports[1].figures[0], 0, 0);
    CU_ASSERT_DOUBLE_EQUAL(s.reports[2].figures[0], 100 + 139, 0);
    char path[64];
    (void)snprintf(path, sizeof(path), "%s/0", folder);
    slot_log_last(path, 1, words, sizeof(words));
    CU_ASSERT_STRING_EQUAL(words, "1 of 2 at 127.0.0.1");
    (void)snprintf(path, sizeof(path), "%s/2", folder);
    slot_log_last(path, 0, words, sizeof(words));
    CU_ASSERT_STRING_EQUAL(words, "it broke");
    slot_log_last(path, 5, words, sizeof(words));
    CU_ASSERT_STRING_EQUAL(words, "");
    CU_ASSERT_EQUAL(slots_leave(&s, &err), 0);
    CU_ASSERT_TRUE(s.left);
}

static void one_that_hangs_is_ended(void) {
    const struct slot_group group = alone_group();
    struct error err = {0};
    cleanup_slots struct slots s = {0};
    int rank = -1;
    make_folder();
    CU_ASSERT_EQUAL_FATAL(slots_open(&s, &group, 1, &err), 0);
    start(&s, 0, 1, "sleep 1000 & wait");
    CU_ASSERT_EQUAL(slots_round(&s, &err), 0);
    CU_ASSERT_TRUE(slots_running(&s, 0, 1));
    CU_ASSERT(s.reports[0].silent > 0);
    CU_ASSERT_EQUAL(slots_end(&s, 0, 1, &err), 0);
    run_until_ended(&s, 0, 1);
    CU_ASSERT_EQUAL(slots_code(&s, 0, 1, &rank), 128 + 15);
}

static void a_program_that_is_not_there_has_ended(void) {
    const struct slot_group group = alone_group();
    struct error err = {0};
    cleanup_slots struct slots s = {0};
    int rank = -1;
    const char *const argv[] = {"/nonexistent/program", NULL};
    make_folder();
    CU_ASSERT_EQUAL_FATAL(slots_open(&s, &group, 1, &err), 0);
    const struct slot_job job = {0, 1, folder, "test", argv, NULL};
    CU_ASSERT_EQUAL(slots_start(&s, &job, &err), 0);
    run_until_ended(&s, 0, 1);
    CU_ASSERT_EQUAL(slots_code(&s, 0, 1, &rank), EXIT_CODE_NOT_FOUND);
    /* Its place is free again. */
    start(&s, 0, 1, "exit 0");
    run_until_ended(&s, 0, 1);
    CU_ASSERT_EQUAL(slots_code(&s, 0, 1, &rank), 0);
}

UNIT_SUITE("common.slots.slots", UNIT(a_slice_has_ranks_and_an_end), UNIT(one_that_hangs_is_ended),
           UNIT(a_program_that_is_not_there_has_ended))
