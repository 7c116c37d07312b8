#include "common/system/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_LEAST = 20 }; /* Narrower terminals are treated as this wide. */

bool terminal_can_rewrite(int fd) {
    const char *term = getenv("TERM");
    return isatty(fd) == 1 && term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0;
}

bool terminal_has_colour_by(int fd, const char *term, const char *no_color) {
    return isatty(fd) == 1 && (term == NULL || strcmp(term, "dumb") != 0) &&
           (no_color == NULL || no_color[0] == '\0');
}

bool terminal_has_colour(int fd) {
    return terminal_has_colour_by(fd, getenv("TERM"), getenv("NO_COLOR"));
}

size_t terminal_columns(int fd) {
    struct winsize size = {0};
    if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return TERMINAL_WIDTH_UNKNOWN;
    return size.ws_col < WIDTH_LEAST ? WIDTH_LEAST : size.ws_col;
}

size_t terminal_lines(int fd) {
    struct winsize size = {0};
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

const char *terminal_colour(bool on, enum terminal_colour colour) {
    static const char *const codes[] = {
        [TERMINAL_PLAIN] = "\x1b[0m",   [TERMINAL_DIM] = "\x1b[2m",
        [TERMINAL_RED] = "\x1b[1;31m",  [TERMINAL_GREEN] = "\x1b[32m",
        [TERMINAL_YELLOW] = "\x1b[33m", [TERMINAL_CYAN] = "\x1b[36m",
    };
    return on ? codes[colour] : "";
}
