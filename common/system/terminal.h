/* Properties of the output terminal: whether a descriptor leads to one, whether it shows colours,
 * and how large it is. Anything else gets neither colours nor rewritten lines. */
#ifndef COMMON_SYSTEM_TERMINAL_H
#define COMMON_SYSTEM_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

enum { TERMINAL_WIDTH_UNKNOWN = 80 };

/* Returns true if FD is a terminal on which lines can be rewritten: TERM is set, and not "dumb". */
bool terminal_can_rewrite(int fd);
/* Returns true if FD is a terminal, TERM is not "dumb", and NO_COLOR is unset or empty
 * (https://no-color.org). */
bool terminal_has_colour(int fd);
/* The same for another process's environment: its TERM and NO_COLOR, NULL if unset. */
bool terminal_has_colour_by(int fd, const char *term, const char *no_color);
/* The columns of a line, at least 20; TERMINAL_WIDTH_UNKNOWN if FD does not report a width. Ask
 * each time, because windows are resized. */
size_t terminal_columns(int fd);

/* The lines of the window; 0 if FD does not report a height. */
size_t terminal_lines(int fd);

enum terminal_colour {
    TERMINAL_PLAIN, /* switches all others off */
    TERMINAL_DIM,
    TERMINAL_RED,
    TERMINAL_GREEN,
    TERMINAL_YELLOW,
    TERMINAL_CYAN
};
/* The escape sequence that switches to COLOUR; "" if ON is false. */
const char *terminal_colour(bool on, enum terminal_colour colour);

#endif
