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

/* One that says little about itself and then prints a banner, as mpirun does, and fails. */
static const char foreign[] =
    "#!/bin/sh\n[ \"$1\" != --version ] || { echo 'mpirun (Open MPI) 4.1.99'; exit 0; }\n"
    "echo ------------- >&2; echo 'There are not enough slots.' >&2\n"
    "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do echo \"advice $i\" >&2; done; exit 1\n";

static void the_mpirun_that_is_first_in_the_path_is_named_and_its_first_words_are_kept(void) {
    char path[STAGE_PATH_SIZE];
    char folder[STAGE_PATH_SIZE];
    char variable[STAGE_PATH_SIZE + 64];
    const char *const settings[] = {two_ranks[0], two_ranks[1], variable, NULL};
    const char *words[] = {"--", "true", NULL};
    (void)snprintf(folder, sizeof(folder), "%s/foreign", unit_temp_dir());
    CU_ASSERT_EQUAL(file_make_dirs(folder, NULL), 0);
    (void)snprintf(path, sizeof(path), "%.400s/mpirun", folder);
    CU_ASSERT_EQUAL(file_publish(path, foreign, sizeof(foreign) - 1, 0755, NULL), 0);
    (void)snprintf(variable, sizeof(variable), "PATH=%.400s:/usr/bin:/bin", folder);
    if (!stage_has_mpirun())
        return;
    stage_start(&host, "foreign", settings, words);
    CU_ASSERT_EQUAL(stage_end(&host, 30), EXIT_CODE_INTERNAL);
    ASSERT_CONTAINS(stage_output(&host), "/foreign/mpirun, of Open MPI 4.1.99");
    ASSERT_CONTAINS(stage_failure(&host), "There are not enough slots.\nadvice 1\n");
    ASSERT_CONTAINS(stage_failure(&host), "advice 14\n");
}

STAGE_MAIN("master.launch", UNIT(mpirun_starts_a_rank_on_every_slot),
           UNIT(hostile_words_arrive_unchanged),
           UNIT(the_mpirun_that_is_first_in_the_path_is_named_and_its_first_words_are_kept))
