/* A pseudo terminal: what a program writes to TERMINAL can be read back from SCREEN. */
#ifndef TESTS_SUPPORT_PTY_H
#define TESTS_SUPPORT_PTY_H

#include "tests/support/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct pty {
    int screen;
    int terminal;
};

/* Sets TERM; COLUMNS 0: a terminal that does not know its width. */
static inline struct pty pty_open(unsigned short columns) {
    const struct winsize size = {.ws_row = 24, .ws_col = columns};
    struct pty pty = {.screen = posix_openpt(O_RDWR | O_NOCTTY)};
    CU_ASSERT_FATAL(pty.screen >= 0 && grantpt(pty.screen) == 0 && unlockpt(pty.screen) == 0);
    pty.terminal = open(ptsname(pty.screen), O_RDWR | O_NOCTTY);
    CU_ASSERT_FATAL(pty.terminal >= 0);
    CU_ASSERT_EQUAL(ioctl(pty.terminal, TIOCSWINSZ, &size), 0);
    (void)setenv("TERM", "xterm", 1);
    return pty;
}

static inline void pty_close(struct pty *pty) {
    (void)close(pty->terminal);
    (void)close(pty->screen);
}

/* What was written to the terminal since the last call. The kernel brings it to the screen a moment
 * later: a mark written after it shows that all of it has come. */
static inline const char *pty_seen(const struct pty *pty) {
    enum { PATIENCE_MS = 60000 };
    static const char mark = '\x1e';
    static char text[8192];
    struct pollfd p = {.fd = pty->screen, .events = POLLIN};
    size_t used = 0;
    CU_ASSERT_EQUAL(write(pty->terminal, &mark, 1), 1);
    while (used < sizeof(text) - 1 && (used == 0 || text[used - 1] != mark) &&
           poll(&p, 1, PATIENCE_MS) == 1) {
        ssize_t got = read(pty->screen, text + used, sizeof(text) - 1 - used);
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    bool is_whole = used > 0 && text[used - 1] == mark;
    CU_ASSERT(is_whole);
    text[is_whole ? used - 1 : used] = '\0';
    return text;
}

#endif
