#include "tests/support/lag.h"
#include "tests/unit/entrypoint/stage.h"

#include <sys/stat.h>

static struct stage_host host;

/* dd writes one mark and a patience of a second into the slot: marks, step, patience, each 8 bytes.
 */
static const char mark_once[] =
    "printf '\\1\\0\\0\\0\\0\\0\\0\\0\\1\\0\\0\\0\\0\\0\\0\\0\\1' | "
    "dd of=$RINGMASTER_PROGRESS conv=notrunc 2>/dev/null; echo marked; exec sleep 60";

/* Looks are 4 s apart at most: one sees the mark, and the next that none has followed. All is out
 * 2 s later. */
static void a_rank_that_falls_silent_is_stalled(void) {
    const char *words[] = {"--", "sh", "-c", mark_once, NULL};
    struct lag lag;
    stage_start(&host, "silent", NULL, words);
    lag_begin(&lag);
    CU_ASSERT_EQUAL(stage_end(&host), EXIT_CODE_STALLED);
    ASSERT_WITHIN(&lag, 10 * CLOCK_SECOND);
    ASSERT_CONTAINS(stage_failure(&host), "rank 0");
    ASSERT_CONTAINS(stage_failure(&host), "stalled");
}

static void a_rank_that_never_showed_progress_is_not(void) {
    const char *const settings[] = {"RINGMASTER_STALL_SECONDS=1", NULL};
    const char *words[] = {"--", "sleep", "5", NULL};
    stage_start(&host, "quiet", settings, words);
    CU_ASSERT_EQUAL(stage_end(&host), 0);
}

/* It works for two seconds of a processor, which is more than the limit, and then does nothing. */
static void a_rank_that_has_worked_and_rests_for_ever_is_stalled(void) {
    static const char work[] = "(ulimit -t 2; while :; do :; done); exec sleep 600";
    const char *const settings[] = {"RINGMASTER_IDLE_SECONDS=1", "RINGMASTER_STALL_SECONDS=0",
                                    NULL};
    const char *words[] = {"--", "sh", "-c", work, NULL};
    stage_start(&host, "resting", settings, words);
    CU_ASSERT_EQUAL(stage_end(&host), EXIT_CODE_STALLED);
    ASSERT_CONTAINS(stage_output(&host),
                    "rank 0 has printed nothing and used no processor for 1 s");
    ASSERT_CONTAINS(stage_output(&host), "sleep: 1 S");
    ASSERT_CONTAINS(stage_output(&host), "all ranks are silent and idle");
    ASSERT_CONTAINS(stage_failure(&host), "stalled");
}

/* The limit is the user's, so no work has to come before it: hung from its first line on, or
 * stopped by itself. */
static void a_rank_that_never_worked_is_stalled_where_that_is_asked_for(void) {
    static const char *const programs[] = {"exec sleep 600", "kill -STOP $$"};
    const char *const settings[] = {"RINGMASTER_IDLE_SECONDS=1", NULL};
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        const char *words[] = {"--", "sh", "-c", programs[i], NULL};
        stage_start(&host, i == 0 ? "hung" : "stopped", settings, words);
        CU_ASSERT_EQUAL(stage_end(&host), EXIT_CODE_STALLED);
        ASSERT_CONTAINS(stage_output(&host), "all ranks are silent and idle");
        ASSERT_CONTAINS(stage_output(&host), i == 0 ? "sleep: 1 S" : "sh: 1 T");
    }
}

/* As a server does: where nobody asks for its end, it is told of alone, and rests on until it is
 * let go. */
static void a_rank_that_has_worked_may_rest(void) {
    static const char work[] = "(ulimit -t 2; while :; do :; done); exec cat \"$1\"";
    const char *const settings[] = {"RINGMASTER_STALL_SECONDS=1", NULL};
    char end[STAGE_PATH_SIZE + 32];
    const char *words[] = {"--", "sh", "-c", work, "sh", end, NULL};
    (void)snprintf(end, sizeof(end), "%s/server", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(end, NULL), 0);
    (void)snprintf(end, sizeof(end), "%s/server/end", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(mkfifo(end, 0644), 0);
    stage_start(&host, "server", settings, words);
    CU_ASSERT(stage_wait_for(&host, "rank 0 has printed nothing and used no processor for 1 s"));
    int let_go = open(end, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    CU_ASSERT(let_go >= 0);
    CU_ASSERT_EQUAL(waitpid(host.pid, NULL, WNOHANG), 0);
    (void)close(let_go);
    CU_ASSERT_EQUAL(stage_end(&host), 0);
}

STAGE_SUITE("host.crew_watch", UNIT(a_rank_that_falls_silent_is_stalled),
            UNIT(a_rank_that_never_showed_progress_is_not),
            UNIT(a_rank_that_has_worked_and_rests_for_ever_is_stalled),
            UNIT(a_rank_that_never_worked_is_stalled_where_that_is_asked_for),
            UNIT(a_rank_that_has_worked_may_rest))
