#include "trainer/data/download/download_child.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/system/sealed_memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The child gets its order in a sealed memory file as descriptor 3, writes marks of progress to
 * standard output and messages to standard error. Its last message is kept back, because on failure
 * it is the reason and becomes the error.
 *
 * It cannot outlive this process: the kernel kills it when the thread that started it ends. Nor can
 * this process wait for ever: there is a deadline for all of it, after which the child is
 * killed. */

#define PROGRAM "ringmaster-transfer"

/* The descriptor of the order in the child. */
enum { ORDER_FD = 3, LINE_SIZE_MAX = 4096 };

/* --- the program ------------------------------------------------------------------------------ */

/* Sets RET to the program in FOLDER, of SIZE bytes; false if it is not there or not executable. An
 * empty folder in PATH, which shells take for the present one, is not searched. */
static bool is_in(const char *folder, size_t size, char ret[PATH_MAX]) {
    return size > 0 && snprintf(ret, PATH_MAX, "%.*s/" PROGRAM, (int)size, folder) < PATH_MAX &&
           access(ret, X_OK) == 0;
}

/* The folder of this program comes first: programs that were installed together fit together. */
int download_child_find(const char *path, char ret[PATH_MAX], struct error *err) {
    char self[PATH_MAX];
    if (file_self(self, sizeof(self), err) != 0)
        return -1;
    const char *slash = strrchr(self, '/');
    if (slash != NULL && is_in(self, (size_t)(slash - self), ret))
        return 0;
    for (const char *at = path; at != NULL; at = *at == ':' ? at + 1 : NULL) {
        const size_t size = strcspn(at, ":");
        if (is_in(at, size, ret))
            return 0;
        at += size;
    }
    return error_set(err, EXIT_CODE_NOT_FOUND,
                     PROGRAM ": neither in %.*s nor in a folder of PATH; it fetches archives. "
                             "Install it, or fetch the archive yourself and give its path",
                     slash != NULL ? (int)(slash - self) : 0, self);
}

/* --- the process ------------------------------------------------------------------------------ */

/* A stream of the child, cut into lines. */
struct child_lines {
    int fd;
    struct buf text;
    bool keeps_last; /* the last line is kept, and not handed on */
    void (*line)(void *context, const char *line);
};

struct running {
    const struct download_child_options *options;
    pid_t pid;
    int pidfd;                     /* -1: the child was not started, or has been waited for */
    struct child_lines streams[2]; /* standard output and standard error */
};

/* In the child: becomes the program. Only what is safe after fork: this process may have threads.
 * The descriptors are first copied to 10 and above, so that dup2 to 0 to 3 overwrites none that is
 * still needed. The environment is fixed: what the program needs of it is in the order. */
static _Noreturn void become(const char *program, const int streams[2], int order, pid_t parent) {
    char *const argv[] = {(char[]){PROGRAM}, (char[]){"3"}, NULL};
    char *const environment[] = {(char[]){"LANG=C.UTF-8"}, NULL};
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    /* An empty standard input: the program must not read what is typed here. */
    const int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int high[] = {fcntl(streams[0], F_DUPFD_CLOEXEC, 10),
                        fcntl(streams[1], F_DUPFD_CLOEXEC, 10), fcntl(order, F_DUPFD_CLOEXEC, 10)};
    /* A parent that ended before prctl sends no signal any more; then it is not the parent now. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent && in >= 0 &&
        dup2(in, STDIN_FILENO) >= 0 && dup2(high[0], STDOUT_FILENO) >= 0 &&
        dup2(high[1], STDERR_FILENO) >= 0 && dup2(high[2], ORDER_FD) >= 0)
        (void)execve(program, argv, environment);
    _exit(EXIT_CODE_NOT_EXECUTABLE);
}

/* Frees everything, in any state. A child that still runs is killed and waited for: no zombie
 * stays. */
static void end(struct running *r) {
    int status = 0;
    if (r->pidfd >= 0) {
        (void)kill(r->pid, SIGKILL);
        while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
            ;
        (void)close(r->pidfd);
    }
    for (size_t i = 0; i < 2; i++) {
        if (r->streams[i].fd >= 0)
            (void)close(r->streams[i].fd);
        buf_done(&r->streams[i].text);
    }
}

/* Starts the child. Its ends of the pipes are closed here on return, so that a pipe ends when the
 * child ends. Descriptors that were opened before a failure are closed by `end`. */
static int begin(struct running *r, struct error *err) {
    const struct download_child_options *o = r->options;
    int out[2] = {-1, -1};
    int words[2] = {-1, -1};
    cleanup_fd int order = sealed_memfd_make("archives to fetch", o->order, strlen(o->order), err);
    if (order < 0)
        return -1;
    if (pipe2(out, O_CLOEXEC) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "a pipe");
    r->streams[0].fd = out[0];
    cleanup_fd int out_end = out[1];
    if (pipe2(words, O_CLOEXEC) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "a pipe");
    r->streams[1].fd = words[0];
    cleanup_fd int words_end = words[1];
    const pid_t parent = getpid();
    r->pid = fork();
    if (r->pid == 0)
        become(o->program, (const int[]){out_end, words_end}, order, parent);
    if (r->pid < 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "starting " PROGRAM);
    r->pidfd = (int)syscall(SYS_pidfd_open, r->pid, 0);
    if (r->pidfd >= 0)
        return 0;
    (void)error_set_errno(err, EXIT_CODE_INTERNAL, "watching " PROGRAM);
    (void)kill(r->pid, SIGKILL);
    (void)waitpid(r->pid, NULL, 0);
    return -1;
}

/* --- its lines -------------------------------------------------------------------------------- */

/* Hands complete lines on. A line too long for the buffer is cut there. If the stream keeps its
 * last line, a line is handed on only once another has begun. */
static void take_lines(struct child_lines *s, void *context) {
    char line[LINE_SIZE_MAX + 1];
    while (s->text.size > 0) {
        const char *end_of_line = memchr(s->text.data, '\n', s->text.size);
        const size_t size =
            end_of_line != NULL ? (size_t)(end_of_line - s->text.data) : s->text.size;
        /* The line with its end, as far as it is there. */
        const size_t whole = size + (end_of_line != NULL);
        if (end_of_line == NULL && s->text.size < s->text.max)
            return;
        if (s->keeps_last && whole == s->text.size)
            return;
        (void)snprintf(line, sizeof(line), "%.*s", (int)size, s->text.data);
        buf_consume(&s->text, whole);
        s->line(context, line);
    }
}

/* Reads what there is; at the stream's end, closes it. */
static void read_stream(struct child_lines *s, void *context) {
    char bytes[1024];
    if (s->text.size >= s->text.max) /* a kept line of the greatest size */
        s->text.size = 0;
    const size_t space = s->text.max - s->text.size;
    const ssize_t got = read(s->fd, bytes, space < sizeof(bytes) ? space : sizeof(bytes));
    if (got < 0 && errno == EINTR)
        return;
    if (got <= 0 || buf_add(&s->text, bytes, (size_t)got, NULL) != 0) {
        (void)close(s->fd);
        s->fd = -1;
        return;
    }
    take_lines(s, context);
}

/* Reads until the child has closed both streams and ended. The pidfd is watched only after both
 * streams have ended, or words in a pipe could be lost. An end by the deadline is EXIT_CODE_DATA,
 * as it is the server that is slow. */
static int follow(struct running *r, struct error *err) {
    const int64_t deadline = clock_now() + r->options->seconds * CLOCK_SECOND;
    for (;;) {
        const bool open = r->streams[0].fd >= 0 || r->streams[1].fd >= 0;
        struct pollfd waits[] = {{.fd = r->streams[0].fd, .events = POLLIN},
                                 {.fd = r->streams[1].fd, .events = POLLIN},
                                 {.fd = open ? -1 : r->pidfd, .events = POLLIN}};
        const int ready = poll(waits, 3, clock_left_ms(deadline));
        if (ready < 0 && errno != EINTR)
            return error_set_errno(err, EXIT_CODE_INTERNAL, "waiting for " PROGRAM);
        if (ready == 0 && clock_left_ms(deadline) == 0)
            return error_set(err, EXIT_CODE_DATA, "not fetched within %lld seconds",
                             (long long)r->options->seconds);
        for (size_t i = 0; ready > 0 && i < 2; i++)
            if (waits[i].revents != 0)
                read_stream(&r->streams[i], r->options->context);
        if (ready > 0 && waits[2].revents != 0)
            return 0;
    }
}

/* Waits for the child and takes its end: its last line, and its code if it is one that
 * ringmaster-transfer uses for the disk or the data. Other codes are faults of the program. A child
 * that succeeded may have a last line, too, which is a message. */
static int conclude(struct running *r, struct error *err) {
    int status = 0;
    pid_t pid;
    do
        pid = waitpid(r->pid, &status, 0);
    while (pid < 0 && errno == EINTR);
    (void)close(r->pidfd);
    r->pidfd = -1;
    /* What was kept of standard error is its last line, with or without a line end. */
    struct buf *last = &r->streams[1].text;
    while (last->size > 0 && last->data[last->size - 1] == '\n')
        last->data[--last->size] = '\0';
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        if (last->size > 0)
            r->options->say(r->options->context, buf_text(last));
        return 0;
    }
    if (WIFSIGNALED(status))
        return error_set(err, EXIT_CODE_INTERNAL, "%s: killed by signal %d", r->options->program,
                         WTERMSIG(status));
    const int code = WEXITSTATUS(status);
    const bool told = code == EXIT_CODE_CONFIG || code == EXIT_CODE_DATA;
    if (last->size > 0)
        return error_set(err, told ? (enum exit_code)code : EXIT_CODE_INTERNAL, "%s",
                         buf_text(last));
    return error_set(
        err, code == EXIT_CODE_NOT_EXECUTABLE ? EXIT_CODE_NOT_EXECUTABLE : EXIT_CODE_INTERNAL,
        "%s: ended with %d", r->options->program, code);
}

/* The three steps share one struct, which `end` can free after any of them. */
int download_child_run(const struct download_child_options *options, struct error *err) {
    struct running r = {.options = options,
                        .pidfd = -1,
                        .streams = {{.fd = -1, .line = options->mark},
                                    {.fd = -1, .line = options->say, .keeps_last = true}}};
    buf_init(&r.streams[0].text, LINE_SIZE_MAX);
    buf_init(&r.streams[1].text, LINE_SIZE_MAX);
    int result = begin(&r, err);
    if (result == 0)
        result = follow(&r, err);
    if (result == 0)
        result = conclude(&r, err);
    end(&r);
    return result;
}
