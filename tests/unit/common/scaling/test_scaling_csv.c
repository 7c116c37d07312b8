#include "common/scaling/scaling_page.h"
#include "tests/unit/common/scaling/study.h"

static void csv_has_the_same_rows(void) {
    struct scaling_study s;
    struct error err = {0};
    cleanup_buf struct buf text = {.max = 1 << 20};
    fill(&s);
    CU_ASSERT_EQUAL(scaling_csv(&s, &text, &err), 0);
    has(&text, "kind,ranks,hosts,");
    has(&text, "training_seconds,failure,variant,\"four machines\",\"four USD\"\n");
    has(&text, "\nmeasured,2,1,180,90,0.9,0.1,10,5565.55556,\"\",\"\",1,55.655");
    has(&text, "\nfailed,8,2,,,,,,,\"rank 3 ended with 66\",\"\",2,\n");
    has(&text, "\nprojected,16,,");
}

UNIT_SUITE("common.scaling.scaling_csv", UNIT(csv_has_the_same_rows))
