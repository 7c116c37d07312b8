#include "common/scaling/scaling_page.h"
#include "tests/unit/common/scaling/study.h"

#include <math.h>

static void text_has_a_row_a_size(void) {
    struct scaling_study s;
    struct error err = {0};
    cleanup_buf struct buf text = {.max = 1 << 20};
    fill(&s);
    CU_ASSERT_EQUAL(scaling_text(&s, &text, &err), 0);
    has(&text, "     2      1        180.0      90.00      90.0 %    10.0 %     10.0 s");
    has(&text, "     8      2  failed: rank 3 ended with 66\n");
    has(&text, "    16      - ");
    has(&text, "projected");
    has(&text, "Fitted up to 2 ranks alone");
    /* 1,000,000 images at 320 a second, on one machine, and 10 s of start: 3135 s. */
    has(&text, "52 min 15 s          31.35\n");
}

static void a_study_of_failures_has_no_model(void) {
    struct scaling_study s = {.program = "test", .unit = "images/s", .total = (double)NAN};
    struct error err = {0};
    cleanup_buf struct buf text = {.max = 1 << 20};
    (void)snprintf(scaling_add(&s, 1, 1)->failure, SCALING_TEXT_SIZE, "no");
    scaling_conclude(&s);
    CU_ASSERT_EQUAL(s.model.form, SCALING_NO_MODEL);
    CU_ASSERT_EQUAL(scaling_text(&s, &text, &err), 0);
    CU_ASSERT_EQUAL(scaling_html(&s, &text, &err), 0);
    has(&text, "failed: no\n");
}

static void strategies_are_compared(void) {
    struct scaling_study s, other;
    struct error err = {0};
    cleanup_buf struct buf text = {.max = 1 << 20};
    fill(&s);
    fill(&other);
    s.next = &other;
    other.points[1].rate = 90;
    (void)snprintf(s.variant, sizeof(s.variant), "allreduce");
    (void)snprintf(other.variant, sizeof(other.variant), "sharded");
    CU_ASSERT_EQUAL(scaling_text(&s, &text, &err), 0);
    has(&text, "     2     180.0 ( 100.0 %)      90.0 (  50.0 %)\n");
    has(&text, "     8               failed               failed\n");
    has(&text, "\nsharded\n ranks");
    CU_ASSERT_EQUAL(scaling_csv(&s, &text, &err), 0);
    has(&text, "\nmeasured,2,1,90,45,");
    has(&text, ",\"sharded\",");
    CU_ASSERT_EQUAL(scaling_html(&s, &text, &err), 0);
    has(&text, "<h2>Sizes: sharded</h2>");
}

UNIT_SUITE("common.scaling.scaling_text", UNIT(text_has_a_row_a_size),
           UNIT(a_study_of_failures_has_no_model), UNIT(strategies_are_compared))
