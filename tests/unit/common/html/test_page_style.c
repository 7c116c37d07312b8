#include "common/html/page_style.h"

#include "tests/support/unit.h"

#include <string.h>

static void braces_are_in_pairs(void) {
    int depth = 0;
    for (size_t i = 0; PAGE_STYLE[i] != NULL; i++)
        for (const char *c = PAGE_STYLE[i]; *c != '\0'; c++) {
            depth += (*c == '{') - (*c == '}');
            CU_ASSERT(depth >= 0);
        }
    CU_ASSERT_EQUAL(depth, 0);
}

UNIT_SUITE("common.html.page_style", UNIT(braces_are_in_pairs))
