/* Reader of Python's tracebacks, line by line: of what a rank prints, and of the call stack in an
 * error file (error_file.h).
 *
 *   Traceback (most recent call last):
 *     File "/code/train.py", line 12, in <module>
 *       next(batches)
 *     File "/usr/lib/python3/dist-packages/torch/utils/data/dataloader.py", line 708, in ...
 *   ValueError: no such shard: 7
 *
 * The last exception counts, and of its frames the innermost of those that tell most
 * (traceback_frame.h). One that has come from a worker of a DataLoader, which is printed as part of
 * another one ("Original Traceback"), stands for that. Exceptions that Python ignores are passed
 * over, and those of threads after one of the main thread.
 *
 * Lines may have PyTorch's prefix "[rank3]: ", escape sequences for colours, and the margin of
 * exception groups. A program prints them, so anything may be in them. */
#ifndef ENTRYPOINT_OUTCOME_TRACEBACK_H
#define ENTRYPOINT_OUTCOME_TRACEBACK_H

#include "entrypoint/outcome/traceback_frame.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    TRACEBACK_TEXT_SIZE = 320,
    TRACEBACK_WORDS_SIZE = 208,
    /* A program that has printed more lines than that since continued: it caught the exception. */
    TRACEBACK_LINES_AFTER = 100,
};

struct traceback_exception {
    struct traceback_frame frame;
    char words[TRACEBACK_WORDS_SIZE]; /* "ValueError: no such shard: 7"; "": not there yet */
    bool nested;                      /* it was printed as part of another one */
    bool of_thread;                   /* not the main one */
};

struct traceback {
    const struct traceback_folders *folders; /* the caller's */
    enum { TRACEBACK_OUTSIDE, TRACEBACK_FRAMES, TRACEBACK_WORDS } state;
    enum { TRACEBACK_OF_MAIN, TRACEBACK_OF_THREAD, TRACEBACK_IGNORED } announced, kind;
    bool syntax; /* frames without a headline, as of an error of syntax */
    struct traceback_exception reading, last;
    unsigned after; /* lines since the last one */
};

/* FOLDERS are to outlive T. */
void traceback_init(struct traceback *t, const struct traceback_folders *folders);
/* Begins a call stack without its headline. */
void traceback_begin(struct traceback *t);
/* Takes the next line, with or without its end. */
void traceback_add(struct traceback *t, const char *line, size_t size);
/* Takes all lines of TEXT. */
void traceback_add_text(struct traceback *t, const char *text);

/* Returns the exception that ended the program, as far as its lines tell; NULL: none. */
const struct traceback_exception *traceback_last(const struct traceback *t);

/* Writes WORDS and the place of FRAME in one line of UTF-8, "ValueError: no such shard: 7
 * (train.py, line 12)"; "" if there are no words. */
void traceback_text(const char *words, const struct traceback_frame *frame,
                    char ret[TRACEBACK_TEXT_SIZE]);

#endif
