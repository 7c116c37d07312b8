#include "trainer/app/run/report.h"

#include "common/log/log.h"
#include "tests/support/unit.h"

#include <string.h>

static char told[4096];

static void take_line(void *context, const char *line, size_t size) {
    (void)context;
    (void)strncat(told, line, size);
}

static void every_line_is_a_warning_of_its_own(void) {
    cleanup_buf struct buf notes = {.max = 1000};
    struct log_sink before = log_set_sink((struct log_sink){take_line, NULL});
    CU_ASSERT_EQUAL(buf_add_text(&notes, "first 100%s\nsecond\n\nthird\n", NULL), 0);
    report_notes(&notes);
    CU_ASSERT_EQUAL(notes.size, 0);
    ASSERT_CONTAINS(told, "warning first 100%s\n");
    ASSERT_CONTAINS(told, "warning second\n");
    ASSERT_CONTAINS(told, "warning third\n");
    size_t lines = 0;
    for (const char *at = strchr(told, '\n'); at != NULL; at = strchr(at + 1, '\n'))
        lines++;
    CU_ASSERT_EQUAL(lines, 3);
    told[0] = '\0';
    report_notes(&notes);
    CU_ASSERT_STRING_EQUAL(told, "");
    (void)log_set_sink(before);
}

UNIT_SUITE("app.report_notes", UNIT(every_line_is_a_warning_of_its_own))
