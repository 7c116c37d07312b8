/* The line of progress of a command that writes pictures (common/log/status_line.h). */
#ifndef TRAINER_APP_COMMAND_OUTPUT_WRITING_H
#define TRAINER_APP_COMMAND_OUTPUT_WRITING_H

#include "common/log/status_line.h"

#include <stdint.h>

struct writing {
    struct status_line line;
    int64_t of;       /* pictures in all */
    int64_t begun_at; /* clock_now() */
};

/* On FD, where that is a terminal. */
void writing_open(struct writing *w, int fd, int64_t of);
/* DONE pictures are written; CONTEXT is a struct writing. */
void writing_show(void *context, int64_t done);
void writing_close(struct writing *w);

#endif
