#include "common/run_id.h"
#include "tests/unit/entrypoint/stage.h"

static struct stage_host host;

static int run(const char *script) {
    const char *words[] = {"--", "sh", "-c", script, NULL};
    stage_start(&host, "rank", NULL, words);
    return stage_end(&host);
}

static void exit_codes_pass_unchanged(void) {
    CU_ASSERT_EQUAL(run("exit 0"), 0);
    CU_ASSERT_EQUAL(run("exit 42"), 42);
    CU_ASSERT_EQUAL(run("exit 255"), 255);
    CU_ASSERT_EQUAL(run("kill -SEGV $$"), 139);
    CU_ASSERT_EQUAL(run("kill -KILL $$"), 137);
}

static void a_program_that_is_not_there_is_127_and_says_so(void) {
    const char *words[] = {"--", "no-such-program", NULL};
    stage_start(&host, "absent", NULL, words);
    CU_ASSERT_EQUAL(stage_end(&host), 127);
    ASSERT_CONTAINS(stage_output(&host), "no-such-program");
    const char *folder[] = {"--", "/tmp", NULL};
    stage_start(&host, "folder", NULL, folder);
    CU_ASSERT_EQUAL(stage_end(&host), 126);
}

static void the_program_learns_its_place_and_no_secret(void) {
    CU_ASSERT_EQUAL(run("echo rank $RANK of $WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT; "
                        "echo key=$RINGMASTER_KEY socket=$RINGMASTER_SOCKET."),
                    0);
    ASSERT_CONTAINS(stage_output(&host), "rank 0 of 1 at ");
    ASSERT_CONTAINS(stage_output(&host), "key= socket=.");
}

static void words_arrive_as_they_were(void) {
    const char *words[] = {"--", "sh",   "-c",      "for w; do echo \"<$w>\"; done",
                           "sh", "a b",  "$(echo)", "'\"\\",
                           ":",  "--lr", "",        NULL};
    stage_start(&host, "words", NULL, words);
    CU_ASSERT_EQUAL(stage_end(&host), 0);
    const char *output = stage_output(&host);
    ASSERT_CONTAINS(output, "<a b>\n");
    ASSERT_CONTAINS(output, "<$(echo)>\n");
    ASSERT_CONTAINS(output, "<'\"\\>\n");
    ASSERT_CONTAINS(output, "<:>\n");
    ASSERT_CONTAINS(output, "<--lr>\n");
    ASSERT_CONTAINS(output, "<>\n");
}

/* Words may hold secrets, and everybody on a machine may read command lines. */
static void words_stand_in_the_programs_command_line_alone(void) {
    const char *words[] = {
        "--", "sh",          "-c",          "tr '\\0' ' ' </proc/$PPID/cmdline; echo",
        "sh", "--api-token", "canary-7391", NULL};
    stage_start(&host, "cmdline", NULL, words);
    CU_ASSERT_EQUAL(stage_end(&host), 0);
    ASSERT_CONTAINS(stage_output(&host), "unit_host_ranks rank \n");
    CU_ASSERT_PTR_NULL(strstr(stage_output(&host), "canary"));
}

static void the_last_words_of_both_streams_are_in_the_failure_file(void) {
    CU_ASSERT_EQUAL(run("echo out; printf 'err without end' >&2; exit 9"), 9);
    const char *failure = stage_failure(&host);
    ASSERT_CONTAINS(failure, "rank 0: exited with 9");
    ASSERT_CONTAINS(failure, "out");
    ASSERT_CONTAINS(failure, "err without end");
}

static void without_a_supervisor_it_is_an_error(void) {
    struct error err = {0};
    int code = 0;
    char rank[] = "OMPI_COMM_WORLD_RANK=0";
    char size[] = "OMPI_COMM_WORLD_SIZE=1";
    char local_rank[] = "OMPI_COMM_WORLD_LOCAL_RANK=0";
    char local_size[] = "OMPI_COMM_WORLD_LOCAL_SIZE=1";
    char attempt[] = ATTEMPT_VARIABLE "=1";
    char *const environment[] = {rank, size, local_rank, local_size, attempt, NULL};
    (void)unsetenv(CONTROL_SOCKET_VARIABLE);
    CU_ASSERT_EQUAL(rank_run(environment, &code, &err), -1);
    ASSERT_CONTAINS(err.text, CONTROL_SOCKET_VARIABLE);
}

STAGE_SUITE("host.rank", UNIT(exit_codes_pass_unchanged),
            UNIT(a_program_that_is_not_there_is_127_and_says_so),
            UNIT(the_program_learns_its_place_and_no_secret), UNIT(words_arrive_as_they_were),
            UNIT(words_stand_in_the_programs_command_line_alone),
            UNIT(the_last_words_of_both_streams_are_in_the_failure_file),
            UNIT(without_a_supervisor_it_is_an_error))
