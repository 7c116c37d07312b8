#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/app/board/board_histograms.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 3 * BOARD_HISTOGRAM_VALUES + 5 };

/* The count of the histogram with that tag, which follows least and most. */
static double count_of(const struct buf *bytes, const char *tag) {
    const char *at = memmem(bytes->data, bytes->size, tag, strlen(tag));
    double count = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    at = memchr(at, 0x19, 64); /* field 3, a double */
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    memcpy(&count, at + 1, sizeof(count));
    return count;
}

static void trained_tensors_have_both_and_large_ones_a_part(void) {
    struct store_slot slots[] = {
        {.name = "small.weight", .trained = true, .count = 10},
        {.name = "frozen.weight", .first = 16, .count = 4},
        {.name = "large.weight", .trained = true, .first = 32, .count = LARGE}};
    const struct store store = {.slots = slots, .slot_count = 3};
    float *values = calloc(32 + LARGE, sizeof(*values));
    char pattern[700], folder[600];
    glob_t found;
    struct board board;
    cleanup_buf struct buf bytes = {.max = 1 << 20};
    CU_ASSERT_PTR_NOT_NULL_FATAL(values);
    for (int i = 0; i < 32 + LARGE; i++)
        values[i] = 1;
    snprintf(folder, sizeof(folder), "%s/histograms", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(board_open(&board, folder, false, NULL), 0);
    CU_ASSERT_EQUAL(board_histograms(&board, 7, &store, values, values, 0.5F, NULL), 0);
    board_done(&board);
    snprintf(pattern, sizeof(pattern), "%s/train/events*", folder);
    CU_ASSERT_EQUAL_FATAL(glob(pattern, 0, NULL, &found), 0);
    CU_ASSERT_EQUAL_FATAL(file_read(found.gl_pathv[0], &bytes, NULL), 0);
    globfree(&found);
    CU_ASSERT_EQUAL(count_of(&bytes, "weights/small.weight"), 10);
    CU_ASSERT_EQUAL(count_of(&bytes, "gradients/small.weight"), 10);
    CU_ASSERT_PTR_NULL(memmem(bytes.data, bytes.size, "frozen", 6));
    /* Every third of them; the rest would be the next one. */
    CU_ASSERT_EQUAL(count_of(&bytes, "weights/large.weight"), BOARD_HISTOGRAM_VALUES);
    free(values);
}

static void nothing_is_looked_at_for_a_closed_board(void) {
    struct store_slot slot = {.name = "w", .trained = true, .count = 10};
    const struct store store = {.slots = &slot, .slot_count = 1};
    struct board board = BOARD_CLOSED;
    CU_ASSERT_EQUAL(board_histograms(&board, 7, &store, NULL, NULL, 1, NULL), 0);
}

UNIT_SUITE("app.board_histograms", UNIT(trained_tensors_have_both_and_large_ones_a_part),
           UNIT(nothing_is_looked_at_for_a_closed_board))
