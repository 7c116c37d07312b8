#include "unit/entrypoint/stage.h"

static struct stage_host host;

static const char *const two_ranks[] = {"RINGMASTER_HOSTS=127.0.0.1:2", "RINGMASTER_HOST=127.0.0.1",
                                        NULL};

static void mpirun_starts_a_rank_on_every_slot(void) {
    const char *words[] = {"--", "sh", "-c", "echo $RANK of $WORLD_SIZE, $LOCAL_RANK here", NULL};
    if (!stage_has_mpirun()) {
        unit_skip("no mpirun here");
        return;
    }
    stage_start(&host, "two", two_ranks, words);
    CU_ASSERT_EQUAL(stage_end(&host, 30), 0);
    ASSERT_CONTAINS(stage_output(&host), "[127.0.0.1 rank 0] 0 of 2, 0 here\n");
    ASSERT_CONTAINS(stage_output(&host), "[127.0.0.1 rank 1] 1 of 2, 1 here\n");
}

static void hostile_words_arrive_unchanged(void) {
    const char *words[] = {"--",   "sh", "-c",   "for w; do echo \"<$w>\"; done",
                           "sh",   ":",  "--np", "$(touch x)",
                           "a  b", NULL};
    if (!stage_has_mpirun())
        return;
    stage_start(&host, "hostile", two_ranks, words);
    CU_ASSERT_EQUAL(stage_end(&host, 30), 0);
    const char *output = stage_output(&host);
    ASSERT_CONTAINS(output, "rank 1] <:>\n");
    ASSERT_CONTAINS(output, "rank 1] <--np>\n");
    ASSERT_CONTAINS(output, "rank 1] <$(touch x)>\n");
    ASSERT_CONTAINS(output, "rank 1] <a  b>\n");
}

STAGE_MAIN("entrypoint.launch", UNIT(mpirun_starts_a_rank_on_every_slot),
           UNIT(hostile_words_arrive_unchanged))
