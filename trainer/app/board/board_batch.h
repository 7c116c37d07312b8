/* Pictures of the first batch for TensorBoard.
 *
 * They are shown as the network gets them, augmented: "batch/1" and so on, each with its class, or
 * with the boxes of its objects. */
#ifndef TRAINER_APP_BOARD_BOARD_BATCH_H
#define TRAINER_APP_BOARD_BOARD_BATCH_H

#include "common/error.h"
#include "trainer/app/board/board.h"
#include "trainer/app/task/task.h"

#include <stddef.h>
#include <stdint.h>

/* Adds the first COUNT pictures of BATCH, of STEP, to the run of steps. */
int board_batch(struct board *board, int64_t step, const struct task_data *data,
                const struct batch *batch, size_t count, struct error *err);

#endif
