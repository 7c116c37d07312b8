#include "entrypoint/command/inner_command.h"

#include "tests/support/unit.h"

/* Whatever is tried by hand is refused with a reason, and no process waits for a supervisor. */
static void they_are_not_for_people(void) {
    int (*const commands[])(const char *const *words, struct error *err) = {
        inner_command_study, inner_command_examine, inner_command_gather, inner_command_ras,
        inner_command_agent};
    const char *const none[] = {NULL};
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(commands[i](none, &err), -1);
        CU_ASSERT_NOT_EQUAL(err.text[0], '\0');
    }
}

UNIT_SUITE("entrypoint.inner_command", UNIT(they_are_not_for_people))
