#include "common/scaling/scaling_page.h"
#include "tests/unit/common/scaling/study.h"

static void page_escapes_and_stands_alone(void) {
    struct scaling_study s;
    struct error err = {0};
    cleanup_buf struct buf text = {.max = 1 << 20};
    fill(&s);
    CU_ASSERT_EQUAL(scaling_html(&s, &text, &err), 0);
    has(&text, "train &lt;this&gt;");
    has(&text, "<b>Throughput</b>");
    has(&text, "<b>Efficiency</b>");
    has(&text, "rank 3 ended with 66");
    has(&text, "Each rank has the same batch");
    has(&text, "4 ranks a machine");
    /* Each sentence about the model is a paragraph. */
    has(&text, "</h2><p>Model: ");
    CU_ASSERT_PTR_NULL(strstr(buf_text(&text), ".?"));
    CU_ASSERT_PTR_NULL(strstr(buf_text(&text), "http:"));
    CU_ASSERT_PTR_NULL(strstr(buf_text(&text), "<script"));
    CU_ASSERT_PTR_NULL(strstr(buf_text(&text), "nan"));
}

UNIT_SUITE("common.scaling.scaling_html", UNIT(page_escapes_and_stands_alone))
