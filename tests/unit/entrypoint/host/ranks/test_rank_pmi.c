#include "common/clock.h"
#include "entrypoint/host/ranks/rank_pmi.h"
#include "entrypoint/wire/message.h"
#include "tests/support/held_clock.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A shim's side, with the supervisor's end of its link, and the socket as the program has it. */
static struct loop loop;
static struct rank_pmi pmi;
static struct link *ours, *supervisors;
static struct argv environment;
static int program;
static unsigned pairs_heard, barriers_heard;

static void hear(void *context, const json_t *message) {
    (void)context;
    pairs_heard += message_kind(message) == MESSAGE_PAIRS;
    barriers_heard += message_kind(message) == MESSAGE_BARRIER;
}

static void gone(void *context, const struct error *why) {
    (void)context;
    (void)why;
}

static const struct link_events events = {.message = hear, .closed = gone};

static void end_turn(void *context) {
    loop_end(context);
}

/* Until there is nothing more to read. */
static void turn(void) {
    struct timer end = {.fire = end_turn, .context = &loop};
    held_clock_begin();
    loop_after(&loop, &end, CLOCK_SECOND / 50);
    CU_ASSERT_EQUAL(loop_run(&loop, NULL), 0);
    held_clock_end();
}

static void set_up(void) {
    const struct rank_place place = {.rank = 1, .size = 2, .attempt = 3};
    int ends[2];
    pairs_heard = barriers_heard = 0;
    CU_ASSERT_EQUAL_FATAL(loop_init(&loop, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ours = link_new(&loop, ends[0], NULL, false, &events, NULL, NULL);
    supervisors = link_new(&loop, ends[1], NULL, true, &events, NULL, NULL);
    CU_ASSERT_FATAL(ours != NULL && supervisors != NULL);
    CU_ASSERT_EQUAL_FATAL(
        rank_pmi_open(&pmi, &loop, ours, &place, "run", "(vector,(0,2,1))", &environment, NULL), 0);
    program = dup(atoi(argv_get_env(&environment, "PMI_FD")));
    rank_pmi_started(&pmi);
    rank_pmi_started(&pmi); /* once */
}

static void take_down(void) {
    rank_pmi_close(&pmi);
    link_free(ours);
    link_free(supervisors);
    argv_done(&environment);
    (void)close(program);
    loop_done(&loop);
}

static const char *ask(const char *lines) {
    static char answer[4096];
    CU_ASSERT_EQUAL(write(program, lines, strlen(lines)), (ssize_t)strlen(lines));
    turn();
    ssize_t size = recv(program, answer, sizeof(answer) - 1, MSG_DONTWAIT);
    bool closed = size == 0 || (size < 0 && errno == ECONNRESET);
    answer[size > 0 ? size : 0] = '\0';
    return closed ? "(closed)" : answer;
}

static void a_program_is_answered_line_by_line(void) {
    set_up();
    CU_ASSERT_STRING_EQUAL(ask("cmd=get_my"), "");
    CU_ASSERT_STRING_EQUAL(ask("_kvsname\ncmd=get_appnum\n"),
                           "cmd=my_kvsname kvsname=kvs_run_3\ncmd=appnum appnum=0\n");
    take_down();
}

static void a_barrier_ends_with_what_all_have_put(void) {
    json_t *message = json_pack("{s:[[s, s]]}", "pairs", "theirs", "2");
    set_up();
    CU_ASSERT_STRING_EQUAL(ask("cmd=put kvsname=x key=ours value=1\n"),
                           "cmd=put_result rc=0 msg=success\n");
    CU_ASSERT_STRING_EQUAL(ask("cmd=barrier_in\n"), "");
    CU_ASSERT(pairs_heard == 1 && barriers_heard == 1);
    rank_pmi_pairs(&pmi, message);
    rank_pmi_passed(&pmi);
    CU_ASSERT_STRING_EQUAL(ask("cmd=get kvsname=x key=theirs\n"),
                           "cmd=barrier_out\ncmd=get_result rc=0 msg=success value=2\n");
    CU_ASSERT_STRING_EQUAL(ask("cmd=barrier_in\n"), ""); /* nothing new to tell */
    CU_ASSERT(pairs_heard == 1 && barriers_heard == 2);
    json_decref(message);
    take_down();
}

static void a_program_that_breaks_the_protocol_loses_its_socket(void) {
    char long_line[5000];
    set_up();
    CU_ASSERT_STRING_EQUAL(ask("what\n"), "(closed)");
    rank_pmi_passed(&pmi); /* which is too late */
    take_down();
    set_up();
    memset(long_line, 'x', sizeof(long_line) - 1);
    long_line[sizeof(long_line) - 1] = '\0';
    CU_ASSERT_STRING_EQUAL(ask(long_line), "");
    CU_ASSERT_STRING_EQUAL(ask(long_line), "(closed)");
    take_down();
}

static void without_pmi_nothing_happens(void) {
    struct rank_pmi none = {0};
    rank_pmi_pairs(&none, NULL);
    rank_pmi_passed(&none);
    rank_pmi_started(&none);
    rank_pmi_close(&none);
    CU_ASSERT_FALSE(none.open);
}

UNIT_SUITE("host.ranks.rank_pmi", UNIT(a_program_is_answered_line_by_line),
           UNIT(a_barrier_ends_with_what_all_have_put),
           UNIT(a_program_that_breaks_the_protocol_loses_its_socket),
           UNIT(without_pmi_nothing_happens))
