/* One job from its start to its end: well, with a failure, beyond its limit, and without a place.
 */
#include "common/slots/slot_run.h"

#include "tests/support/alone_group.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char failure[SLOT_FAILURE_SIZE];

static const char *const *variables;

static void run(int ranks, double limit, bool foreign, const char *folder, const char *script) {
    const struct slot_group group = alone_group();
    struct error err = {0};
    cleanup_slots struct slots s = {0};
    cleanup_argv struct argv argv = {0};
    const char *const words[] = {"sh", "-c", script, NULL};
    CU_ASSERT_EQUAL_FATAL(argv_add_all(&argv, words, &err), 0);
    CU_ASSERT_EQUAL_FATAL(slots_open(&s, &group, 2, &err), 0);
    s.foreign = foreign;
    const struct slot_task task = {ranks, folder, &argv, limit, variables};
    CU_ASSERT_EQUAL(slot_run(&s, &task, failure, &err), 0);
    CU_ASSERT_FALSE(slots_running(&s, 0, 2));
}

static void read_log(const char *folder, char ret[128]) {
    char path[64];
    (void)snprintf(path, sizeof(path), "%s/rank-0.log", folder);
    FILE *file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    ret[fread(ret, 1, 127, file)] = '\0';
    (void)fclose(file);
}

static void a_job_ends_well_or_says_why_not(void) {
    char folder[] = "/tmp/slot-run-XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    run(2, 60, false, folder, "exit 0");
    CU_ASSERT_STRING_EQUAL(failure, "");
    run(2, 60, false, folder, "[ $RANK = 0 ] && exec sleep 1000; echo it broke; exit 9");
    CU_ASSERT_STRING_EQUAL(failure, "rank 1 ended with 9: it broke");
    run(1, 0.3, false, folder, "exec sleep 1000");
    CU_ASSERT_STRING_EQUAL(failure, "not done after 0 s (--limit)");
}

static void a_foreign_program_has_its_place_and_its_own_log(void) {
    char folder[] = "/tmp/slot-run-XXXXXX", text[128];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    run(1, 60, false, folder, "echo ${WORLD_SIZE-none}");
    run(1, 60, false, folder, "echo ${WORLD_SIZE-none}");
    read_log(folder, text);
    CU_ASSERT_STRING_EQUAL(text, "none\nnone\n");
    run(1, 60, true, folder, "echo $RANK of $WORLD_SIZE at $MASTER_ADDR; test $MASTER_PORT -gt 0");
    CU_ASSERT_STRING_EQUAL(failure, "");
    read_log(folder, text);
    CU_ASSERT_STRING_EQUAL(text, "0 of 1 at 127.0.0.1\n");
}

static void variables_of_a_job_are_its_own(void) {
    static const char *const list[] = {"PATH_TO=a=b", "WORLD_SIZE=told", NULL};
    static const char *const wrong[] = {"none", NULL};
    char folder[] = "/tmp/slot-run-XXXXXX", text[128];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    variables = list;
    run(1, 60, true, folder, "echo $PATH_TO $WORLD_SIZE");
    read_log(folder, text);
    CU_ASSERT_STRING_EQUAL(text, "a=b told\n");
    variables = wrong;
    run(1, 60, true, folder, "exit 0");
    ASSERT_CONTAINS(failure, "rank 0 ended with 64");
    variables = NULL;
    run(1, 60, true, folder, "echo ${PATH_TO-none}");
    read_log(folder, text);
    CU_ASSERT_STRING_EQUAL(text, "none\n");
}

UNIT_SUITE("common.slots.slot_run", UNIT(variables_of_a_job_are_its_own),
           UNIT(a_job_ends_well_or_says_why_not),
           UNIT(a_foreign_program_has_its_place_and_its_own_log))
