#include "support/lag.h"
#include "unit/entrypoint/stage.h"

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
    CU_ASSERT_EQUAL(stage_end(&host, 30), EXIT_CODE_STALLED);
    ASSERT_WITHIN(&lag, 10 * CLOCK_SECOND);
    ASSERT_CONTAINS(stage_failure(&host), "rank 0");
    ASSERT_CONTAINS(stage_failure(&host), "stalled");
}

static void a_rank_that_never_showed_progress_is_not(void) {
    const char *const settings[] = {"RINGMASTER_STALL_SECONDS=1", NULL};
    const char *words[] = {"--", "sleep", "5", NULL};
    stage_start(&host, "quiet", settings, words);
    CU_ASSERT_EQUAL(stage_end(&host, 30), 0);
}

/* It works for two seconds of a processor, which is more than the limit, and then does nothing. */
static void a_rank_that_has_worked_and_rests_for_ever_is_stalled(void) {
    static const char work[] = "(ulimit -t 2; while :; do :; done); exec sleep 600";
    const char *const settings[] = {"RINGMASTER_IDLE_SECONDS=1", "RINGMASTER_STALL_SECONDS=0",
                                    NULL};
    const char *words[] = {"--", "sh", "-c", work, NULL};
    stage_start(&host, "resting", settings, words);
    CU_ASSERT_EQUAL(stage_end(&host, 90), EXIT_CODE_STALLED);
    ASSERT_CONTAINS(stage_output(&host), "rank 0 has printed nothing and done nothing for 1 s");
    ASSERT_CONTAINS(stage_output(&host), "sleep: 1 S");
    ASSERT_CONTAINS(stage_output(&host), "all ranks are silent and idle");
    ASSERT_CONTAINS(stage_failure(&host), "stalled");
}

/* As a server does: where nobody asks for its end, it is told of alone. That takes three looks, 4 s
 * apart where no heartbeat comes. */
static void a_rank_that_has_worked_may_rest(void) {
    static const char work[] = "(ulimit -t 2; while :; do :; done); exec sleep 13";
    const char *const settings[] = {"RINGMASTER_STALL_SECONDS=1", NULL};
    const char *words[] = {"--", "sh", "-c", work, NULL};
    stage_start(&host, "server", settings, words);
    CU_ASSERT_EQUAL(stage_end(&host, 90), 0);
    ASSERT_CONTAINS(stage_output(&host), "rank 0 has printed nothing and done nothing for 1 s");
}

STAGE_MAIN("host.crew_watch", UNIT(a_rank_that_falls_silent_is_stalled),
           UNIT(a_rank_that_never_showed_progress_is_not),
           UNIT(a_rank_that_has_worked_and_rests_for_ever_is_stalled),
           UNIT(a_rank_that_has_worked_may_rest))
