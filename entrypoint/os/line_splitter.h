/* Splitter of a program's output into whole, printable lines.
 *
 * Each line gets a prefix that names its rank, is valid UTF-8 (one invalid byte on stdout ends
 * SageMaker's SDK), and has at most LINE_SPLITTER_MAX bytes with its prefix and line end. A longer
 * line is cut, and ends with a mark that gives its full length. A lone carriage return, as progress
 * bars use it, ends a line too. The last lines are kept for the report of how the rank ended. */
#ifndef ENTRYPOINT_OS_LINE_SPLITTER_H
#define ENTRYPOINT_OS_LINE_SPLITTER_H

#include "common/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LINE_SPLITTER_MAX = 1024 * 1024 + 64 * 1024, /* a mebibyte, and prefix and marks */
    LINE_SPLITTER_PREFIX_SIZE = 320,
    LINE_SPLITTER_TAIL_COUNT = 12,
    LINE_SPLITTER_TAIL_SIZE = 2048,
};

/* The last lines, without prefix, '\n' between them. */
struct tail {
    char text[LINE_SPLITTER_TAIL_SIZE];
    size_t size;
    int64_t last; /* time of the last line, clock_now(); set by the reader */
};

struct line_splitter {
    char prefix[LINE_SPLITTER_PREFIX_SIZE]; /* followed by a blank */
    struct tail *tail;                      /* may be NULL */
    /* LINE has prefix and '\n', but no NUL. */
    void (*emit)(void *context, const char *line, size_t size);
    void *context;
    struct buf partial; /* of the line that has not ended yet, as it came */
    size_t lost;        /* bytes of it that had no room */
    bool after_return;
};

void line_splitter_init(struct line_splitter *l, const char *prefix, struct tail *tail,
                        void (*emit)(void *context, const char *line, size_t size), void *context);
void line_splitter_done(struct line_splitter *l);

void line_splitter_feed(struct line_splitter *l, const char *bytes, size_t size);
/* Emits what has no line end. */
void line_splitter_end(struct line_splitter *l);

void tail_add(struct tail *t, const char *line, size_t size);

/* An error's words and what a buffer held until then are this close together. */
#define LINE_SPLITTER_TAIL_TOGETHER_NS INT64_C(10000000000)

/* The last lines of a program's two streams, joined: standard error comes after standard output,
 * because errors say more, and programs that end flush output that they have buffered for long. If
 * standard error fell silent LINE_SPLITTER_TAIL_TOGETHER_NS before the other, its lines are old
 * warnings, and come first. Each gets half of the lines, and those that the other leaves unused; of
 * the bytes, the last are kept. */
void tail_join(const struct tail *out, const struct tail *error_out, struct tail *ret);

#endif
