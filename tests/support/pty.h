/* A pseudo terminal: what a program writes to TERMINAL can be read back from SCREEN. */
#ifndef TESTS_SUPPORT_PTY_H
#define TESTS_SUPPORT_PTY_H

#include "tests/support/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
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

/* What has come onto the screen since the last call. */
static inline const char *pty_seen(const struct pty *pty) {
    static char text[8192];
    struct pollfd p = {.fd = pty->screen, .events = POLLIN};
    size_t used = 0;
    while (used < sizeof(text) - 1 && poll(&p, 1, 50) == 1) {
        ssize_t got = read(pty->screen, text + used, sizeof(text) - 1 - used);
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    text[used] = '\0';
    return text;
}

#endif
