#include "entrypoint/master/preflight/check_print.h"

#include "common/cleanup.h"
#include "common/json/json.h"
#include "entrypoint/master/preflight/check_rows.h"
#include "tests/support/pty.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *printed(const json_t *rows, struct check_look look) {
    static char text[4096];
    struct buf out;
    buf_init(&out, sizeof(text) - 1);
    CU_ASSERT_EQUAL(check_print_rows(rows, 2, look, &out, NULL), 0);
    memcpy(text, buf_text(&out), out.size + 1);
    buf_done(&out);
    return text;
}

static void rows_are_lines(void) {
    cleanup_json json_t *rows = json_array();
    check_add(rows, CHECK_OK, "kernel", "Linux 6.1", json_pack("[s, s]", "a", "b"), "", 0);
    check_add(rows, CHECK_WARNING, "files", "9", json_pack("[s]", "a"), "more", 0);
    check_add(rows, CHECK_BAD, "reach", "no", json_array(), "", EXIT_CODE_NOT_READY);
    CU_ASSERT_STRING_EQUAL(printed(rows, (struct check_look){0}),
                           "ok       kernel     all 2 hosts: Linux 6.1\n"
                           "warning  files      a: 9; more\n"
                           "bad      reach      : no\n");
    CU_ASSERT_STRING_EQUAL(printed(rows, (struct check_look){.colour = true}),
                           "\033[32mok     \033[0m  kernel     all 2 hosts: Linux 6.1\n"
                           "\033[33mwarning\033[0m  files      a: 9; more\n"
                           "\033[1;31mbad    \033[0m  reach      : no\n");
}

/* Another host's text may not speak to the terminal, nor make a row of its own. */
static void text_of_others_is_made_safe(void) {
    cleanup_json json_t *rows = json_array();
    check_add(rows, CHECK_OK, "kernel", "x\033]0;mine\007\nok  all is well", json_pack("[s]", "a"),
              "\033[2J", 0);
    const char *text = printed(rows, (struct check_look){0});
    CU_ASSERT_PTR_NULL(strchr(text, '\033'));
    CU_ASSERT_PTR_NULL(strchr(text, '\007'));
    CU_ASSERT(strchr(text, '\n') == text + strlen(text) - 1);
}

static void many_hosts_are_counted(void) {
    cleanup_json json_t *rows = json_array();
    json_t *names = json_array();
    for (int i = 0; i < 40; i++)
        (void)json_array_append_new(names, json_sprintf("algo-%d", 100 + i));
    check_add(rows, CHECK_WARNING, "files", "9", names, "", 0);
    const char *text = printed(rows, (struct check_look){0});
    ASSERT_CONTAINS(text, "algo-100 algo-101 ");
    ASSERT_CONTAINS(text, " and 29 more: 9\n");
}

static void long_rows_break_at_the_width(void) {
    cleanup_json json_t *rows = json_array();
    check_add(rows, CHECK_OK, "kernel", "Linux 6.1 and more", json_pack("[s]", "a"), "", 0);
    CU_ASSERT_STRING_EQUAL(printed(rows, (struct check_look){.width = 34}),
                           "ok       kernel     a: Linux 6.1\n"
                           "                    and more\n");
}

static void colours_are_for_terminals(void) {
    char dumb[] = "TERM=dumb", good[] = "TERM=xterm", no[] = "NO_COLOR=1", empty[] = "NO_COLOR=";
    char *const none[] = {NULL};
    char *const dumb_one[] = {dumb, NULL};
    char *const unwanted[] = {good, no, NULL};
    char *const wanted[] = {good, empty, NULL};
    int pipes[2];
    CU_ASSERT_EQUAL_FATAL(pipe(pipes), 0);
    struct pty pty = pty_open(72);
    CU_ASSERT_FALSE(check_look_of(pipes[1], wanted).colour);
    CU_ASSERT_EQUAL(check_look_of(pipes[1], wanted).width, 0);
    CU_ASSERT(check_look_of(pty.terminal, none).colour);
    CU_ASSERT(check_look_of(pty.terminal, wanted).colour);
    CU_ASSERT_FALSE(check_look_of(pty.terminal, dumb_one).colour);
    CU_ASSERT_FALSE(check_look_of(pty.terminal, unwanted).colour);
    CU_ASSERT_EQUAL(check_look_of(pty.terminal, unwanted).width, 72);
    pty_close(&pty);
    (void)close(pipes[0]);
    (void)close(pipes[1]);
}

UNIT_SUITE("master.check_print", UNIT(rows_are_lines), UNIT(text_of_others_is_made_safe),
           UNIT(many_hosts_are_counted), UNIT(long_rows_break_at_the_width),
           UNIT(colours_are_for_terminals))
