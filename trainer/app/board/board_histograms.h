/* Histograms of all trained parameters and of their gradients for TensorBoard: "weights/NAME" and
 * "gradients/NAME". Of a tensor with more than BOARD_HISTOGRAM_VALUES values so many of them are
 * counted, evenly spaced, so that one costs the same for any network of as many tensors. */
#ifndef TRAINER_APP_BOARD_BOARD_HISTOGRAMS_H
#define TRAINER_APP_BOARD_BOARD_HISTOGRAMS_H

#include "common/error.h"
#include "trainer/app/board/board.h"
#include "trainer/graph/program/store.h"

#include <stdint.h>

enum { BOARD_HISTOGRAM_VALUES = 1 << 16 };

/* Adds the histograms of values in host memory, laid out as the arenas of STORE are; the gradients
 * are multiplied by SCALE. */
int board_histograms(struct board *board, int64_t step, const struct store *store,
                     const float *weights, const float *gradients, float scale, struct error *err);

#endif
