#include "unit/entrypoint/stage.h"

#include <sys/stat.h>

static struct stage_host host;

static int run(const char *script) {
    const char *words[] = {"--", "sh", "-c", script, NULL};
    stage_start(&host, "host", NULL, words);
    return stage_end(&host, 20);
}

/* The script prints the pid of what it leaves behind. */
static void what_a_program_leaves_behind_is_ended(void) {
    CU_ASSERT_EQUAL(run("setsid sh -c 'trap \"\" TERM; echo left $$; sleep 100' & sleep 0.3"), 0);
    const char *at = strstr(stage_output(&host), "] left ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    pid_t left = (pid_t)strtol(at + strlen("] left "), NULL, 10);
    CU_ASSERT(left > 1);
    CU_ASSERT_NOT_EQUAL(kill(left, 0), 0);
}

static void a_failure_file_of_the_program_is_kept_and_an_old_one_is_not(void) {
    CU_ASSERT_EQUAL(run("exit 3"), 3);
    ASSERT_CONTAINS(stage_failure(&host), "exited with 3");
    CU_ASSERT_EQUAL(run("true"), 0);
    CU_ASSERT_STRING_EQUAL(stage_failure(&host), "");
    CU_ASSERT_EQUAL(run("mkdir -p $SM_OUTPUT_DIR; echo mine >$SM_OUTPUT_DIR/failure; exit 4"), 4);
    CU_ASSERT_STRING_EQUAL(stage_failure(&host), "mine\n");
}

static void a_signal_after_the_verdict_changes_nothing(void) {
    const char *words[] = {"--", "sh", "-c", "setsid sh -c 'trap \"\" TERM; sleep 100' & exit 5",
                           NULL};
    stage_start(&host, "late", NULL, words);
    CU_ASSERT(stage_wait_for(&host, "leaving with 5", 10));
    (void)kill(host.pid, SIGTERM);
    CU_ASSERT_EQUAL(stage_end(&host, 10), 5);
}

static void its_folder_is_gone_afterwards(void) {
    CU_ASSERT_EQUAL(run("true"), 0);
    char path[STAGE_PATH_SIZE];
    (void)snprintf(path, sizeof(path), "ls -d %s/ringmaster-* 2>/dev/null", unit_temp_dir());
    CU_ASSERT_EQUAL(run(path), 0);
    const char *output = stage_output(&host);
    const char *first = strstr(output, "/ringmaster-");
    CU_ASSERT_PTR_NOT_NULL(first);
    first = strstr(strstr(output, "rank 0]"), "/ringmaster-test-");
    CU_ASSERT_PTR_NOT_NULL(first); /* one folder: the running job's own */
    CU_ASSERT_PTR_NULL(strstr(strchr(first, '\n'), "rank 0]"));
}

STAGE_MAIN("entrypoint.supervisor", UNIT(what_a_program_leaves_behind_is_ended),
           UNIT(a_failure_file_of_the_program_is_kept_and_an_old_one_is_not),
           UNIT(a_signal_after_the_verdict_changes_nothing), UNIT(its_folder_is_gone_afterwards))
