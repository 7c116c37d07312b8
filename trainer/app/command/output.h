/* Standard output of the commands: what cannot be written there is an error of the command, with
 * the exit code of file_write_code, because who asked for it would take its lack for an answer. */
#ifndef TRAINER_APP_COMMAND_OUTPUT_H
#define TRAINER_APP_COMMAND_OUTPUT_H

#include "common/error.h"

/* Writes TEXT and flushes. */
int output_text(const char *text, struct error *err);

/* Flushes, and fails if anything printed so far was lost. */
int output_finish(struct error *err);

#endif
