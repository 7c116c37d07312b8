/* Does a line match an expression that a user wrote for a service? Expressions are of the kind that
 * Python, Java and POSIX have in common; what a group captured is not asked for, so that greedy or
 * not is the same.
 *
 *     . [a-z] [^a-z] \d \w \s \D \W \S \b \B \A \Z ^ $ * + ? {n,m} | ( ) (?: ) (?P<name> ) (?i)
 *
 * All ways through an expression are walked at once: time grows with the line and with the
 * expression, never with the number of ways, and memory is bounded before the first line. What
 * cannot be walked so is refused by name: back-references, look-arounds, possessive repetition. */
#ifndef ENTRYPOINT_OUTCOME_PATTERN_H
#define ENTRYPOINT_OUTCOME_PATTERN_H

#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

enum {
    PATTERN_TEXT_MAX = 512, /* bytes of an expression; CreateTrainingJob takes 500 characters */
    PATTERN_CODE_MAX = 2048,
    PATTERN_SETS_MAX = 64,
    PATTERN_DEPTH_MAX = 32,
    PATTERN_LITERAL_SIZE = 64,
    PATTERN_STEPS_MAX = 200 * 1000, /* a line: about a millisecond */
};

enum pattern_what {
    PATTERN_CHAR, /* this byte */
    PATTERN_ANY,
    PATTERN_SET,
    PATTERN_SPLIT, /* goes on with the next step, and with the one BY further */
    PATTERN_JUMP,
    PATTERN_BEGIN,
    PATTERN_END,
    PATTERN_WORD_EDGE,
    PATTERN_NO_WORD_EDGE,
    PATTERN_DONE,
};

struct pattern_step {
    uint8_t what;
    uint8_t value; /* the byte, or which set */
    int16_t by;
};

struct pattern_set {
    uint8_t bits[32];
};

struct pattern {
    struct pattern_step *code;
    size_t size;
    struct pattern_set *sets;
    char literal[PATTERN_LITERAL_SIZE]; /* without which no line matches */
    size_t literal_size;                /* 0: there is none */
};

/* Where a line is walked; a few kB, for all patterns one. */
struct pattern_room {
    uint16_t lists[2][PATTERN_CODE_MAX];
    uint16_t stack[PATTERN_CODE_MAX];
    uint32_t marks[PATTERN_CODE_MAX];
    uint32_t mark;
};

enum pattern_answer { PATTERN_NO, PATTERN_YES, PATTERN_COSTLY };

/* The error says what of TEXT is not understood. */
int pattern_parse(const char *text, struct pattern *ret, struct error *err);
void pattern_done(struct pattern *p);

/* ROOM is zeroed before its first use. Costly: the line took more than PATTERN_STEPS_MAX. */
enum pattern_answer pattern_match(const struct pattern *p, const char *line, size_t size,
                                  struct pattern_room *room);

#endif
