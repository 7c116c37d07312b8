#include "trainer/app/task/class_confusion.h"

#include "common/file/file.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static const char *folder_of(const char *name) {
    static char folder[600];
    snprintf(folder, sizeof(folder), "%s/%s", unit_temp_dir(), name);
    return folder;
}

static void rows_are_classes_and_columns_answers(void) {
    char cat[] = "cat", odd[] = "a \"b\", c", emu[] = "emu";
    char *names[] = {cat, odd, emu};
    cleanup_class_tally struct class_tally tally = {0};
    cleanup_buf struct buf text = {.max = 4096};
    struct error err = {0};
    char path[700];
    const char *folder = folder_of("matrix");
    CU_ASSERT_EQUAL_FATAL(class_tally_open(&tally, 3, true, &err), 0);
    for (size_t i = 0; i < 9; i++)
        tally.pairs[i] = (double)i;
    tally.pairs[8] = 123456789;
    snprintf(path, sizeof(path), "%s/" CLASS_CONFUSION_FILE, folder);
    for (int turn = 0; turn < 2; turn++) { /* an earlier one is replaced */
        CU_ASSERT_EQUAL_FATAL(class_confusion_check(folder, 3, &err), 0);
        CU_ASSERT_EQUAL_FATAL(class_confusion_write(&tally, names, folder, &err), 0);
    }
    CU_ASSERT_EQUAL_FATAL(file_read(path, &text, &err), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&text), "true class,\"cat\",\"a \"\"b\"\", c\",\"emu\"\n"
                                            "\"cat\",0,1,2\n"
                                            "\"a \"\"b\"\", c\",3,4,5\n"
                                            "\"emu\",6,7,123456789\n");
}

static void what_cannot_be_written_is_known_before(void) {
    struct error err = {0};
    char path[700];
    const char *folder = folder_of("taken");
    CU_ASSERT_EQUAL(class_confusion_check(folder, CLASS_TALLY_PAIRS_OF, &err), 0);
    CU_ASSERT_EQUAL(class_confusion_check(folder, CLASS_TALLY_PAIRS_OF + 1, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
    ASSERT_CONTAINS(err.text, "--out: confusion.csv is written for at most 1024 classes");
    snprintf(path, sizeof(path), "%s/" CLASS_CONFUSION_FILE, folder);
    CU_ASSERT_EQUAL_FATAL(file_put(path, "a,b\n", 4, 0644, &err), 0);
    CU_ASSERT_EQUAL(class_confusion_check(folder, 2, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "--out");
}

UNIT_SUITE("app.class_confusion", UNIT(rows_are_classes_and_columns_answers),
           UNIT(what_cannot_be_written_is_known_before))
