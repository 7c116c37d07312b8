/* Checked writes to the standard output of the commands. A failed write is an error of the
 * command, with the exit code of file_write_code, because missing output could be mistaken for a
 * result. */
#ifndef TRAINER_APP_COMMAND_OUTPUT_OUTPUT_H
#define TRAINER_APP_COMMAND_OUTPUT_OUTPUT_H

#include "common/error.h"

/* Writes TEXT and flushes. */
int output_text(const char *text, struct error *err);

/* Flushes, and fails if anything printed so far was lost. */
int output_finish(struct error *err);

#endif
