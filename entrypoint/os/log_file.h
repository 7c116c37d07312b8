/* Log file of bounded size, for processes that may block.
 *
 * When the file would exceed half of its limit, it is renamed to NAME.1, replacing an earlier one,
 * and a new file begins. The last lines are therefore always kept, within the limit.
 *
 * A file belongs to one process at a time. If another process holds it, as when two jobs share a
 * folder, the next free name is used: "events-2.jsonl" beside "events.jsonl". Symbolic links and
 * files that are not regular are never written to. Lines of an earlier run stay; an incomplete last
 * line is ended first. */
#ifndef ENTRYPOINT_OS_LOG_FILE_H
#define ENTRYPOINT_OS_LOG_FILE_H

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOG_FILE_NAME_SIZE = 320, LOG_FILE_NAMES = 9, LOG_FILE_LEAST = 4096 };

struct log_file {
    int fd;        /* -1: not open */
    unsigned turn; /* of its names; 1: as it is called */
    int64_t size;  /* so far */
    bool torn;     /* its last line has no end */
};

void log_file_init(struct log_file *f);
void log_file_done(struct log_file *f);

/* Appends LINE, which ends with '\n', to the file NAME in the folder that FOLDER is open on. LIMIT
 * is its ceiling, at least LOG_FILE_LEAST; of a line above half of that the beginning comes. After
 * a failure the next call tries anew. */
int log_file_add(struct log_file *f, int folder, const char *name, int64_t limit, const char *line,
                 size_t size, struct error *err);

#endif
