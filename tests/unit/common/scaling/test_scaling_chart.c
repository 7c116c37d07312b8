#include "common/scaling/scaling_chart.h"
#include "tests/unit/common/scaling/study.h"

static size_t count_of(const struct html *h, const char *words) {
    size_t count = 0;
    for (const char *at = buf_text(&h->out); (at = strstr(at, words)) != NULL; at++)
        count++;
    return count;
}

static void sizes_that_were_measured_or_projected_are_drawn(void) {
    struct scaling_study s;
    struct scaling_row rows[SCALING_ROWS_MAX];
    cleanup_html struct html h;
    html_open(&h);
    fill(&s);
    CU_ASSERT_EQUAL(scaling_rows(&s, rows), 5);
    scaling_chart_rate(&h, &s);
    /* Three measured sizes and one projected; the ideal is a line without points. */
    CU_ASSERT_EQUAL(count_of(&h, "<circle"), 4);
    CU_ASSERT_EQUAL(count_of(&h, "(projected)"), 1);
    CU_ASSERT_EQUAL(count_of(&h, "stroke-dasharray"), 1);
    CU_ASSERT_EQUAL(count_of(&h, "ideal"), 1);
    scaling_chart_efficiency(&h, &s);
    CU_ASSERT_EQUAL(count_of(&h, "4 ranks: 80 %"), 1);
    CU_ASSERT_EQUAL(count_of(&h, "nan"), 0);
}

static void strategies_share_a_chart(void) {
    struct scaling_study s, other;
    cleanup_html struct html h;
    html_open(&h);
    fill(&s);
    fill(&other);
    s.next = &other;
    (void)snprintf(s.variant, sizeof(s.variant), "allreduce");
    (void)snprintf(other.variant, sizeof(other.variant), "sharded");
    scaling_chart_rate(&h, &s);
    /* Four sizes of each, and the legend. */
    CU_ASSERT_EQUAL(count_of(&h, "<circle"), 10);
    CU_ASSERT_EQUAL(count_of(&h, "<title>sharded, 4 ranks"), 1);
    CU_ASSERT_EQUAL(count_of(&h, "ideal"), 1);
    scaling_chart_efficiency(&h, &s);
    CU_ASSERT_EQUAL(count_of(&h, "<title>allreduce, 4 ranks: 80 %"), 1);
}

static void nothing_measured_is_no_chart(void) {
    struct scaling_study s = {.unit = "images/s"};
    cleanup_html struct html h;
    html_open(&h);
    (void)scaling_add(&s, 1, 1);
    scaling_chart_rate(&h, &s);
    CU_ASSERT_EQUAL(h.out.size, 0);
}

UNIT_SUITE("common.scaling.scaling_chart", UNIT(sizes_that_were_measured_or_projected_are_drawn),
           UNIT(strategies_share_a_chart), UNIT(nothing_measured_is_no_chart))
