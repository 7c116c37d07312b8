/* Event files of a training for TensorBoard: two runs, FOLDER/train and FOLDER/eval, with the same
 * names of scalars ("loss"), so that TensorBoard shows them in one chart. `ringtrain eval --watch`
 * writes FOLDER/watch. Rank 0 has it; on other ranks it is closed, and a closed one
 * takes everything and writes nothing.
 *
 * Files of earlier versions lie in FOLDER itself, with "train/loss" and "eval/loss" in one run;
 * TensorBoard continues showing them, as run ".". */
#ifndef TRAINER_APP_BOARD_BOARD_H
#define TRAINER_APP_BOARD_BOARD_H

#include "common/error.h"
#include "common/text/metric_line.h"
#include "trainer/telemetry/tfevents.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BOARD_SCALARS_MAX = 32 };

struct board {
    struct tfevents steps;
    struct tfevents evaluations;
    char session[96]; /* joins the settings of both runs to one row */
};

#define BOARD_CLOSED                                                                               \
    { .steps = TFEVENTS_CLOSED, .evaluations = TFEVENTS_CLOSED }

/* Opens both runs in FOLDER, that of evaluations only if the training EVALUATES; "": none. */
int board_open(struct board *board, const char *folder, bool evaluates, struct error *err);
/* Opens the run of a watch. */
int board_open_watch(struct board *board, const char *folder, struct error *err);
void board_done(struct board *board);

static inline bool board_is_open(const struct board *board) {
    return board->steps.fd >= 0;
}

/* Of a training that had come to its end at STEP before: an evaluation of STEP that is in FOLDER
 * already is not written there again. */
int board_end_again(struct board *board, const char *folder, int64_t step, struct error *err);

/* STEP is the next step. Hides events that an earlier run wrote for it and later steps. */
int board_begin(struct board *board, int64_t step, struct error *err);

/* Adds a text, as Markdown, to the run of steps. */
int board_text(struct board *board, int64_t step, const char *tag, const char *text,
               struct error *err);
/* Adds the training's settings, for the table of trainings. */
int board_settings(struct board *board, int64_t step, const struct tfevents_setting *settings,
                   size_t count, struct error *err);

/* Adds COUNT scalars, at most BOARD_SCALARS_MAX, of one event to the EVENTS of a board. */
int board_scalars(struct tfevents *events, int64_t step, const struct metric_field *fields,
                  int count, struct error *err);

#endif
