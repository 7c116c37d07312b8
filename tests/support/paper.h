/* Tables of the papers that are printed from the program's own. */
#ifndef TESTS_SUPPORT_PAPER_H
#define TESTS_SUPPORT_PAPER_H

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file/file.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

/* NAME, a file from the top of the repository, has the table of WHAT that PRINT gives, to the
 * letter.
 */
static inline void assert_paper_has(const char *name, const char *what,
                                    int (*print)(struct buf *ret, struct error *err)) {
    char path[512];
    cleanup_buf struct buf text;
    cleanup_buf struct buf table;
    buf_init(&text, 1 << 20);
    buf_init(&table, 1 << 18);
    (void)snprintf(path, sizeof(path), "%s/../../%s", RINGMASTER_TEST_DATA, name);
    CU_ASSERT_EQUAL_FATAL(file_read(path, &text, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(print(&table, NULL), 0);
    bool same = strstr(buf_text(&text), buf_text(&table)) != NULL;
    if (!same)
        printf("\n%s has another table of %s; this is the one:\n\n%s", name, what,
               buf_text(&table));
    CU_ASSERT(same);
}

#endif
