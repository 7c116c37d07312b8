#include "common/file/file.h"
#include "tests/support/unit.h"
#include "trainer/app/board/board.h"
#include "trainer/telemetry/tfevents_read.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

static const char *new_folder(void) {
    static char folder[512];
    static int number;
    snprintf(folder, sizeof(folder), "%.400s/board%d", unit_temp_dir(), number++);
    return folder;
}

/* Returns the number of event files of RUN in FOLDER, and the content of the first one in RET. */
static size_t files_of(const char *folder, const char *run, struct buf *ret) {
    char pattern[700];
    glob_t found;
    size_t count = 0;
    snprintf(pattern, sizeof(pattern), "%s/%s/events.out.tfevents.*", folder, run);
    buf_done(ret);
    *ret = (struct buf){.max = 1 << 16};
    if (glob(pattern, 0, NULL, &found) == 0) {
        count = found.gl_pathc;
        CU_ASSERT_EQUAL(file_read(found.gl_pathv[0], ret, NULL), 0);
    }
    globfree(&found);
    return count;
}

static bool has(const struct buf *bytes, const char *text) {
    return memmem(bytes->data, bytes->size, text, strlen(text)) != NULL;
}

static void steps_and_evaluations_are_two_runs(void) {
    static const struct tfevents_setting settings[] = {{"lr", "0.5"}};
    const struct metric_field loss = {"loss", 1.5};
    const struct metric_field top1 = {"top1", 0.5};
    const char *folder = new_folder();
    struct board board;
    cleanup_buf struct buf bytes = {0};
    CU_ASSERT_EQUAL_FATAL(board_open(&board, folder, true, NULL), 0);
    CU_ASSERT(board_is_open(&board));
    CU_ASSERT_EQUAL(board_begin(&board, 1, NULL), 0);
    CU_ASSERT_EQUAL(board_text(&board, 0, "flags", "| --lr | 0.5 |", NULL), 0);
    CU_ASSERT_EQUAL(board_settings(&board, 0, settings, 1, NULL), 0);
    CU_ASSERT_EQUAL(board_scalars(&board.steps, 5, &loss, 1, NULL), 0);
    CU_ASSERT_EQUAL(board_scalars(&board.evaluations, 5, &top1, 1, NULL), 0);
    board_done(&board);
    CU_ASSERT_EQUAL(files_of(folder, "train", &bytes), 1);
    CU_ASSERT(has(&bytes, "loss") && has(&bytes, "| --lr | 0.5 |") && has(&bytes, board.session));
    CU_ASSERT_FALSE(has(&bytes, "top1"));
    CU_ASSERT_EQUAL(files_of(folder, "eval", &bytes), 1);
    CU_ASSERT(has(&bytes, "top1") && has(&bytes, board.session));
    CU_ASSERT_FALSE(has(&bytes, "loss") || has(&bytes, "flags"));
}

static void what_is_not_wanted_is_not_there(void) {
    const struct metric_field fields[BOARD_SCALARS_MAX + 1] = {{"a", 1}};
    const char *folder = new_folder();
    struct error err = {0};
    struct board board;
    cleanup_buf struct buf bytes = {0};
    CU_ASSERT_EQUAL_FATAL(board_open(&board, folder, false, NULL), 0);
    CU_ASSERT_EQUAL(board_scalars(&board.evaluations, 5, fields, 1, NULL), 0);
    CU_ASSERT_EQUAL(board_scalars(&board.steps, 5, fields, BOARD_SCALARS_MAX + 1, &err), -1);
    ASSERT_CONTAINS(err.text, "at most 32");
    board_done(&board);
    CU_ASSERT_EQUAL(files_of(folder, "eval", &bytes), 0);
    CU_ASSERT_EQUAL_FATAL(board_open(&board, "", true, NULL), 0);
    CU_ASSERT_FALSE(board_is_open(&board));
    CU_ASSERT_EQUAL(board_begin(&board, 1, NULL), 0);
    CU_ASSERT_EQUAL(board_text(&board, 0, "t", "t", NULL), 0);
    CU_ASSERT_EQUAL(board_settings(&board, 0, NULL, 0, NULL), 0);
    CU_ASSERT_EQUAL(board_end_again(&board, folder, 5, NULL), 0);
    board_done(&board);
}

static void a_watch_has_a_run_of_its_own(void) {
    const struct metric_field top1 = {"top1", 0.5};
    const char *folder = new_folder();
    struct board board;
    cleanup_buf struct buf bytes = {0};
    CU_ASSERT_EQUAL_FATAL(board_open_watch(&board, folder, NULL), 0);
    CU_ASSERT_EQUAL(board_scalars(&board.evaluations, 5, &top1, 1, NULL), 0);
    CU_ASSERT_EQUAL(board_scalars(&board.steps, 5, &top1, 1, NULL), 0);
    board_done(&board);
    CU_ASSERT_EQUAL(files_of(folder, "watch", &bytes), 1);
    CU_ASSERT_EQUAL(files_of(folder, "train", &bytes), 0);
}

/* Ends a training again at step 5, where it has ended before. Returns whether the evaluation is
 * written. */
static bool evaluation_is_written(const char *folder) {
    struct board board;
    CU_ASSERT_EQUAL_FATAL(board_open(&board, folder, true, NULL), 0);
    CU_ASSERT_EQUAL(board_end_again(&board, folder, 5, NULL), 0);
    const bool open = board.evaluations.fd >= 0;
    CU_ASSERT(board_is_open(&board));
    board_done(&board);
    return open;
}

static void an_evaluation_that_is_there_is_not_written_again(void) {
    const struct metric_field top1 = {"top1", 0.5};
    const struct tfevents_scalar earlier = {"eval/top1", 0.5};
    const char *folder = new_folder();
    struct board board;
    CU_ASSERT_EQUAL_FATAL(board_open(&board, folder, true, NULL), 0);
    CU_ASSERT_EQUAL(board_scalars(&board.evaluations, 4, &top1, 1, NULL), 0);
    board_done(&board);
    CU_ASSERT(evaluation_is_written(folder));
    CU_ASSERT_EQUAL_FATAL(board_open(&board, folder, true, NULL), 0);
    CU_ASSERT_EQUAL(board_scalars(&board.evaluations, 5, &top1, 1, NULL), 0);
    board_done(&board);
    CU_ASSERT_FALSE(evaluation_is_written(folder));
    /* Earlier versions wrote evaluations to the folder's own event file. */
    folder = new_folder();
    struct tfevents old = TFEVENTS_CLOSED;
    CU_ASSERT_EQUAL_FATAL(tfevents_open(&old, folder, "host", 7000000000, NULL), 0);
    CU_ASSERT_EQUAL(tfevents_add(&old, 7000000000, 5, &earlier, 1, NULL), 0);
    tfevents_done(&old);
    CU_ASSERT_FALSE(evaluation_is_written(folder));
}

UNIT_SUITE("app.board", UNIT(steps_and_evaluations_are_two_runs),
           UNIT(what_is_not_wanted_is_not_there), UNIT(a_watch_has_a_run_of_its_own),
           UNIT(an_evaluation_that_is_there_is_not_written_again))
