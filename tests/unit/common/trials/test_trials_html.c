#include "tests/unit/common/trials/results.h"

static void the_page_escapes_and_stands_alone(void) {
    struct trials_plan p;
    struct trials_state s;
    struct error err = {0};
    cleanup_buf struct buf text = {.max = 1 << 20};
    results_fill(&p, &s);
    CU_ASSERT_EQUAL(trials_html(&s, "test", &text, &err), 0);
    results_have(&text, "&lt;0.1&gt;");
    results_have(&text, "rank 0 ended with 139");
    results_have(&text, "--model resnet20");
    results_have(&text, "<rect class=s0");
    CU_ASSERT_PTR_NULL(strstr(buf_text(&text), "http:"));
    CU_ASSERT_PTR_NULL(strstr(buf_text(&text), "<0.1>"));
    CU_ASSERT_PTR_NULL(strstr(buf_text(&text), "nan"));
    trials_state_done(&s);
    trials_plan_done(&p);
}

UNIT_SUITE("common.trials.trials_html", UNIT(the_page_escapes_and_stands_alone))
