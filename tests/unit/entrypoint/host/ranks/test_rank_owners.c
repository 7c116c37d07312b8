#include "entrypoint/host/ranks/rank_owners.h"

#include "common/cleanup.h"
#include "common/json/json.h"
#include "entrypoint/host/ranks/rank_slot.h"
#include "entrypoint/wire/message.h"
#include "tests/support/unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* This process plays the shim of rank 4. Links are only compared with NULL. */
static void processes_of_ranks_that_run_are_told(void) {
    struct rank_set set = {.started = true};
    struct rank_slot slots[2] = {{.rank = 4, .shim = getpid(), .link = (struct link *)&set},
                                 {.rank = 5, .shim = 999999998, .link = (struct link *)&set}};
    slots[0].next = &slots[1];
    set.slots = slots;
    const pid_t child = fork();
    if (child == 0) {
        (void)pause();
        _exit(0);
    }
    cleanup_json json_t *order =
        message_with(MESSAGE_PROCESSES, json_pack("{s:i, s:[I, i, s]}", "number", 7, "pids",
                                                  (json_int_t)child, 999999999, "x"));
    cleanup_json json_t *answer = rank_owners_answer(&set, order);
    CU_ASSERT_EQUAL(message_kind(answer), MESSAGE_OWNERS);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(answer, "number")), 7);
    const json_t *owners = json_object_get(answer, "owners");
    CU_ASSERT_EQUAL_FATAL(json_array_size(owners), 1);
    CU_ASSERT_EQUAL(json_integer_value(json_array_get(json_array_get(owners, 0), 0)), child);
    CU_ASSERT_EQUAL(json_integer_value(json_array_get(json_array_get(owners, 0), 1)), 4);
    slots[0].reported = true; /* what is left of it is no rank's */
    cleanup_json json_t *later = rank_owners_answer(&set, order);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(later, "owners")), 0);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
}

UNIT_SUITE("host.rank_owners", UNIT(processes_of_ranks_that_run_are_told))
