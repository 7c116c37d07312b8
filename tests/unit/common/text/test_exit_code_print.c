#include "common/text/exit_code_print.h"

#include "common/exit_code.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

static void the_printed_table_holds_every_row(void) {
    size_t count = 0;
    const struct exit_code_row *rows = exit_code_table(&count);
    for (int trainer = 0; trainer < 2; trainer++) {
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        CU_ASSERT_PTR_NOT_NULL_FATAL(out);
        exit_code_print(out, trainer);
        CU_ASSERT_EQUAL(fclose(out), 0);
        for (size_t i = 0; i < count; i++) {
            char code[32];
            (void)snprintf(code, sizeof(code), "\n  %-6d%.20s", rows[i].code, rows[i].meaning);
            if (i > 0)
                CU_ASSERT_EQUAL(strstr(text, code) != NULL, !trainer || rows[i].trainer);
        }
        for (const char *at = text; *at != '\0'; at += strcspn(at, "\n") + 1)
            CU_ASSERT(strcspn(at, "\n") < 80);
        free(text);
    }
}

UNIT_SUITE("common.exit_code_print", UNIT(the_printed_table_holds_every_row))
