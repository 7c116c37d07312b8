#include "unit/entrypoint/stage.h"

static struct stage_host host;

static void lines_carry_host_and_rank(void) {
    const char *const settings[] = {"RINGMASTER_HOSTS=algo-7", "RINGMASTER_HOST=algo-7", NULL};
    const char *words[] = {"--", "sh", "-c", "echo out; echo err >&2; printf 'a\\203b'", NULL};
    stage_start(&host, "lines", settings, words);
    CU_ASSERT_EQUAL(stage_end(&host, 30), 0);
    ASSERT_CONTAINS(stage_output(&host), "[algo-7 rank 0] out\n");
    ASSERT_CONTAINS(stage_output(&host), "[algo-7 rank 0] err\n");
    ASSERT_CONTAINS(stage_output(&host), "[algo-7 rank 0] a\xef\xbf\xbd"
                                         "b\n");
}

STAGE_MAIN("host.crew", UNIT(lines_carry_host_and_rank))
