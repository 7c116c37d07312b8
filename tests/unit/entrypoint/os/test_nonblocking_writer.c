#include "entrypoint/os/nonblocking_writer.h"

#include "common/clock.h"
#include "tests/support/lag.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* More than any of them holds. */
enum { FLOOD = 8 * 1024 * 1024 };

static const char word[] = "so many bytes that nobody reads\n";

/* Writes until nothing more is taken, and that at once. Returns how much was. */
static size_t fill(struct nonblocking_writer *o) {
    size_t taken = 0;
    (void)alarm(60); /* a write that waits ends the test */
    while (taken < FLOOD) {
        errno = EPIPE; /* of something else, earlier */
        ssize_t sent = nonblocking_writer_write(o, word, sizeof(word) - 1);
        if (sent < 0) {
            CU_ASSERT_EQUAL(errno, EAGAIN);
            break;
        }
        taken += (size_t)sent;
    }
    CU_ASSERT_FALSE(nonblocking_writer_wait(o, clock_now() + 20 * CLOCK_MILLISECOND));
    (void)alarm(0);
    return taken;
}

static bool is_blocking(int fd) {
    return (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
}

static void a_pipe_that_nobody_reads_takes_what_it_holds(void) {
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    struct nonblocking_writer o;
    nonblocking_writer_open(&o, ends[1]);
    CU_ASSERT(o.own);
    CU_ASSERT(fill(&o) >= PIPE_BUF);
    CU_ASSERT(is_blocking(ends[1])); /* processes that share it notice nothing */
    nonblocking_writer_close(&o);
    CU_ASSERT_EQUAL(fcntl(ends[1], F_GETFD), 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void a_pipe_that_cannot_be_opened_anew_does_so_too(void) {
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    struct nonblocking_writer o = {.fd = ends[1]};
    CU_ASSERT(fill(&o) >= PIPE_BUF);
    (void)close(ends[0]);
    (void)signal(SIGPIPE, SIG_IGN);
    CU_ASSERT_EQUAL(nonblocking_writer_write(&o, word, 4), -1);
    CU_ASSERT_EQUAL(errno, EPIPE);
    (void)close(ends[1]);
}

static void a_socket_does_so_too(void) {
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    struct nonblocking_writer o;
    nonblocking_writer_open(&o, ends[1]);
    CU_ASSERT(o.socket && !o.own);
    CU_ASSERT(fill(&o) >= PIPE_BUF);
    CU_ASSERT(is_blocking(ends[1]));
    nonblocking_writer_close(&o);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void a_terminal_does_so_too(void) {
    int screen = posix_openpt(O_RDWR | O_NOCTTY);
    CU_ASSERT_FATAL(screen >= 0 && grantpt(screen) == 0 && unlockpt(screen) == 0);
    int terminal = open(ptsname(screen), O_RDWR | O_NOCTTY);
    CU_ASSERT_FATAL(terminal >= 0);
    struct nonblocking_writer o;
    nonblocking_writer_open(&o, terminal);
    CU_ASSERT(o.own);
    (void)alarm(60);
    size_t taken = 0;
    for (ssize_t sent; (sent = nonblocking_writer_write(&o, word, sizeof(word) - 1)) > 0;)
        taken += (size_t)sent;
    CU_ASSERT_EQUAL(errno, EAGAIN);
    CU_ASSERT(taken > sizeof(word));
    (void)alarm(0);
    CU_ASSERT(is_blocking(terminal));
    nonblocking_writer_close(&o);
    (void)close(terminal);
    (void)close(screen);
}

/* Its descriptor may be closed, or be a file, which takes all. */
static void opening_leaves_nothing_of_what_lay_there(void) {
    struct nonblocking_writer o = {.fd = 1000, .own = true, .socket = true};
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/output", unit_temp_dir());
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CU_ASSERT_FATAL(fd >= 0);
    nonblocking_writer_open(&o, fd);
    CU_ASSERT_EQUAL(o.fd, fd);
    CU_ASSERT_FALSE(o.own || o.socket);
    CU_ASSERT_EQUAL(nonblocking_writer_write(&o, word, 4), 4);
    nonblocking_writer_close(&o);
    CU_ASSERT_EQUAL(o.fd, -1);
    CU_ASSERT_EQUAL(lseek(fd, 0, SEEK_END), 4); /* the caller's, and open */
    (void)close(fd);
    o = (struct nonblocking_writer){.fd = 1000, .own = true, .socket = true};
    nonblocking_writer_open(&o, fd);
    CU_ASSERT_FALSE(o.own || o.socket);
    CU_ASSERT_EQUAL(nonblocking_writer_write(&o, word, 4), -1);
    CU_ASSERT_EQUAL(errno, EBADF);
}

static void pieces_end_with_lines(void) {
    static char text[20 * PIPE_BUF];
    memset(text, 'x', sizeof(text));
    CU_ASSERT_EQUAL(nonblocking_writer_piece(text, 10), 10);
    CU_ASSERT_EQUAL(nonblocking_writer_piece(text, 3 * PIPE_BUF), 3 * PIPE_BUF);
    CU_ASSERT_EQUAL(nonblocking_writer_piece(text, sizeof(text)), 64 * 1024);
    text[2 * PIPE_BUF] = '\n';
    CU_ASSERT_EQUAL(nonblocking_writer_piece(text, sizeof(text)), 2 * PIPE_BUF + 1);
    text[99] = '\n';
    CU_ASSERT_EQUAL(nonblocking_writer_piece(text, sizeof(text)), 100);
}

static void who_has_no_loop_waits_for_a_time(void) {
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    nonblocking_writer_put(ends[1], "heard\n", 6, CLOCK_SECOND);
    char text[8] = "";
    CU_ASSERT_EQUAL(read(ends[0], text, sizeof(text)), 6);
    CU_ASSERT_STRING_EQUAL(text, "heard\n");
    struct nonblocking_writer o;
    nonblocking_writer_open(&o, ends[1]);
    (void)fill(&o);
    int64_t start = clock_now();
    struct lag lag;
    lag_begin(&lag);
    nonblocking_writer_put(ends[1], "lost\n", 5, CLOCK_SECOND / 10);
    CU_ASSERT(clock_now() - start >= CLOCK_SECOND / 10);
    ASSERT_WITHIN(&lag, CLOCK_SECOND);
    nonblocking_writer_close(&o);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void the_same_place_is_known_by_any_descriptor(void) {
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    int again = dup(ends[1]);
    struct nonblocking_writer o;
    nonblocking_writer_open(&o, ends[1]);
    CU_ASSERT(nonblocking_writer_same(o.fd, again));
    CU_ASSERT_FALSE(nonblocking_writer_same(o.fd, STDIN_FILENO));
    CU_ASSERT_FALSE(nonblocking_writer_same(-1, -1));
    nonblocking_writer_close(&o);
    (void)close(again);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

UNIT_SUITE("os.nonblocking_writer", UNIT(a_pipe_that_nobody_reads_takes_what_it_holds),
           UNIT(a_pipe_that_cannot_be_opened_anew_does_so_too), UNIT(a_socket_does_so_too),
           UNIT(a_terminal_does_so_too), UNIT(opening_leaves_nothing_of_what_lay_there),
           UNIT(pieces_end_with_lines), UNIT(who_has_no_loop_waits_for_a_time),
           UNIT(the_same_place_is_known_by_any_descriptor))
