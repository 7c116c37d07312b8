/* Terminals: whether a descriptor leads to one, whether it shows colours, and how wide it is. What
 * is no terminal gets neither colours nor lines that are rewritten. */
#ifndef COMMON_TERMINAL_H
#define COMMON_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

enum { TERMINAL_WIDTH_UNKNOWN = 80 };

/* FD is a terminal whose lines can be rewritten: TERM is set, and not "dumb". */
bool terminal_can_rewrite(int fd);
/* FD is a terminal, TERM is not "dumb", and NO_COLOR is unset or empty (https://no-color.org). */
bool terminal_has_colour(int fd);
/* The same for an environment that is not this process's: TERM and NO_COLOR, NULL where unset. */
bool terminal_has_colour_by(int fd, const char *term, const char *no_color);
/* Columns of a line, at least 20; TERMINAL_WIDTH_UNKNOWN where FD does not tell. Ask each time:
 * windows change. */
size_t terminal_columns(int fd);

enum terminal_colour {
    TERMINAL_PLAIN, /* ends the others */
    TERMINAL_DIM,
    TERMINAL_RED,
    TERMINAL_GREEN,
    TERMINAL_YELLOW,
    TERMINAL_CYAN
};
/* The bytes that switch to COLOUR; "" where ON is false. */
const char *terminal_colour(bool on, enum terminal_colour colour);

#endif
