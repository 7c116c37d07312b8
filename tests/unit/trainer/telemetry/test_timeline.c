#include "tests/support/unit.h"
#include "trainer/telemetry/timeline.h"

static void the_last_spans_are_kept(void) {
    struct timeline t = {0};
    CU_ASSERT_EQUAL_FATAL(timeline_open(&t, 4, NULL), 0);
    CU_ASSERT_EQUAL(timeline_count(&t), 0);
    for (int64_t i = 0; i < 10; i++) {
        const struct timeline_span span = {i, i + 1, i, TIMELINE_STEP};
        timeline_add(&t, &span);
    }
    CU_ASSERT_EQUAL_FATAL(timeline_count(&t), 4);
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(timeline_at(&t, i)->number, 6 + (int64_t)i);
    timeline_done(&t);
}

static void without_a_ring_nothing_is_kept(void) {
    struct timeline t = {0};
    CU_ASSERT_EQUAL(timeline_begin(NULL), 0);
    CU_ASSERT_EQUAL(timeline_begin(&t), 0);
    timeline_end(NULL, TIMELINE_STEP, 0, 1);
    timeline_end(&t, TIMELINE_STEP, 0, 1);
    CU_ASSERT_EQUAL(timeline_count(&t), 0);
    timeline_done(&t);
}

static void a_span_ends_now(void) {
    struct timeline t = {0};
    CU_ASSERT_EQUAL_FATAL(timeline_open(&t, 4, NULL), 0);
    const int64_t begin = timeline_begin(&t);
    timeline_end(&t, TIMELINE_DATA, begin, 7);
    const struct timeline_span *span = timeline_at(&t, 0);
    CU_ASSERT(begin > 0 && span->begin == begin && span->end >= begin && span->end <= clock_now());
    CU_ASSERT(span->kind == TIMELINE_DATA && span->number == 7);
    timeline_done(&t);
}

UNIT_SUITE("telemetry.timeline", UNIT(the_last_spans_are_kept),
           UNIT(without_a_ring_nothing_is_kept), UNIT(a_span_ends_now))
