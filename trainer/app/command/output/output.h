/* Output of the commands: checked standard output, and a line of progress.
 *
 * A failed write to standard output is an error of the command, with the exit code of
 * file_write_code, because missing output could be mistaken for a result. */
#ifndef TRAINER_APP_COMMAND_OUTPUT_OUTPUT_H
#define TRAINER_APP_COMMAND_OUTPUT_OUTPUT_H

#include "common/error.h"
#include "common/log/status_line.h"

#include <stdint.h>

/* Writes TEXT and flushes. */
int output_text(const char *text, struct error *err);

/* Flushes, and fails if anything printed so far was lost. */
int output_finish(struct error *err);

/* The line of progress of a command that writes pictures (common/log/status_line.h). */
struct writing {
    struct status_line line;
    int64_t of;       /* pictures in all */
    int64_t begun_at; /* clock_now() */
};

/* Opens the line on FD; it is shown only where that is a terminal. */
void writing_open(struct writing *w, int fd, int64_t of);
/* DONE pictures are written; CONTEXT is a struct writing. */
void writing_show(void *context, int64_t done);
void writing_close(struct writing *w);

#endif
