/* The last exception that a rank of Python has printed (outcome/traceback.h). */
#ifndef ENTRYPOINT_HOST_RANKS_RANK_EXCEPTION_H
#define ENTRYPOINT_HOST_RANKS_RANK_EXCEPTION_H

#include "entrypoint/outcome/traceback.h"

#include <stdbool.h>
#include <stdint.h>

struct rank_exception {
    struct traceback out, error_out; /* by stream */
    int64_t at;                      /* when the last one was read, clock_now() */
};

/* FOLDERS are to outlive E. */
void rank_exception_init(struct rank_exception *e, const struct traceback_folders *folders);
/* Takes a line that the rank has printed. */
void rank_exception_take(struct rank_exception *e, bool error_out, const char *line, size_t size);
/* Writes the exception as one line, rather that of standard error. Returns false, and writes "", if
 * there is none. */
bool rank_exception_text(const struct rank_exception *e, char ret[TRACEBACK_TEXT_SIZE]);

/* The same of an exception that is the last that a stream has of the rank. */
bool rank_exception_is_last(const struct rank_exception *e, char ret[TRACEBACK_TEXT_SIZE]);

/* After that time a rank that has printed an exception does not end because of it: it waits, for
 * a thread or at its exit. */
#define RANK_EXCEPTION_LASTS_NS INT64_C(5000000000)
/* Writes the exception and returns how long ago the rank printed it, in ns, if that is so long ago;
 * else returns 0 and writes "". */
int64_t rank_exception_lasts(const struct rank_exception *e, int64_t now,
                             char ret[TRACEBACK_TEXT_SIZE]);

#endif
