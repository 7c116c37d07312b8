#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/app/board/board_batch.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

static int shown, limit;

static int show(const struct task_data *data, const struct batch *batch,
                const struct task_show *how, struct error *err) {
    (void)data;
    for (int i = 0; i < batch->count && (size_t)i < how->count; i++, shown++) {
        const struct task_picture picture = {i + 1, 2, 3, "\xff\xd8\xff", 3};
        if (shown == limit)
            return error_set(err, EXIT_CODE_DATA, "no more");
        if (how->take(how->user, &picture, err) != 0)
            return -1;
    }
    return 0;
}

static const struct task TASK = {.batch_show = show};
static const struct task_data DATA = {.task = &TASK};
static const struct batch BATCH = {.count = 5};

static void the_first_pictures_go_to_the_run_of_steps(void) {
    char folder[600], pattern[700];
    glob_t found;
    struct board board;
    struct error err = {0};
    cleanup_buf struct buf bytes = {.max = 1 << 16};
    shown = 0;
    limit = 100;
    snprintf(folder, sizeof(folder), "%s/batch", unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(board_open(&board, folder, true, NULL), 0);
    CU_ASSERT_EQUAL(board_batch(&board, 1, &DATA, &BATCH, 3, NULL), 0);
    CU_ASSERT_EQUAL(shown, 3);
    CU_ASSERT_EQUAL(board_batch(&board, 1, &DATA, &BATCH, 0, NULL), 0);
    CU_ASSERT_EQUAL(board_batch(&board, 1, &DATA, NULL, 3, NULL), 0);
    CU_ASSERT_EQUAL(shown, 3);
    limit = 4;
    CU_ASSERT_EQUAL(board_batch(&board, 1, &DATA, &BATCH, 3, &err), -1);
    ASSERT_CONTAINS(err.text, "no more");
    board_done(&board);
    CU_ASSERT_EQUAL(board_batch(&board, 1, &DATA, &BATCH, 3, NULL), 0);
    CU_ASSERT_EQUAL(shown, 4);
    snprintf(pattern, sizeof(pattern), "%s/train/events*", folder);
    CU_ASSERT_EQUAL_FATAL(glob(pattern, 0, NULL, &found), 0);
    CU_ASSERT_EQUAL_FATAL(file_read(found.gl_pathv[0], &bytes, NULL), 0);
    globfree(&found);
    CU_ASSERT_PTR_NOT_NULL(memmem(bytes.data, bytes.size, "batch/3", 7));
    CU_ASSERT_PTR_NULL(memmem(bytes.data, bytes.size, "batch/4", 7));
}

UNIT_SUITE("app.board_batch", UNIT(the_first_pictures_go_to_the_run_of_steps))
