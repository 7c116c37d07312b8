#include "common/exit_code.h"
#include "entrypoint/outcome/explain.h"
#include "tests/support/unit.h"

#include <string.h>
#include <strings.h>

enum { CELL_MAX = 260 };

static void assert_cell(const char *text) {
    CU_ASSERT_FATAL(text != NULL);
    CU_ASSERT(strlen(text) > 0 && strlen(text) <= CELL_MAX);
    CU_ASSERT_PTR_NULL(strchr(text, '|')); /* of the page's tables */
    CU_ASSERT_PTR_NULL(strchr(text, '\n'));
}

static void every_row_says_all_of_it(void) {
    size_t count = 0;
    const struct explain_row *table = explain_table(&count);
    CU_ASSERT_FATAL(count > 50);
    for (size_t i = 0; i < count; i++) {
        assert_cell(explain_means(&table[i]));
        assert_cell(table[i].see);
        assert_cell(table[i].why);
        assert_cell(table[i].act);
        CU_ASSERT(table[i].kind != EXPLAIN_TEXT || table[i].signs[0] != NULL);
        CU_ASSERT(i == 0 || table[i].kind >= table[i - 1].kind);
        for (size_t k = i + 1; k < count; k++)
            CU_ASSERT_NOT_EQUAL(strcasecmp(table[i].name, table[k].name), 0);
    }
}

/* What --help lists is explained, under the name that the failure file begins with. */
static void every_exit_code_of_ours_has_its_row(void) {
    size_t count = 0;
    const struct exit_code_row *codes = exit_code_table(&count);
    for (size_t i = 0; i < count; i++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "%d", codes[i].code);
        const struct explain_row *row = explain_find(text);
        CU_ASSERT_PTR_NOT_NULL_FATAL(row);
        CU_ASSERT_EQUAL(row->kind, EXPLAIN_CODE);
        CU_ASSERT_STRING_EQUAL(explain_means(row), codes[i].meaning);
        if (strcmp(codes[i].class_name, "program") != 0)
            CU_ASSERT_STRING_EQUAL(row->name, codes[i].class_name);
    }
}

UNIT_SUITE("outcome.explain_table", UNIT(every_row_says_all_of_it),
           UNIT(every_exit_code_of_ours_has_its_row))
