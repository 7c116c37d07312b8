#include "entrypoint/os/child.h"

#include "common/binary/elf_program.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/descriptors.h"
#include "entrypoint/os/fd_limits.h"
#include "entrypoint/os/run_as.h"
#include "entrypoint/os/user_signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* child_spawn() forks, and the child prepares itself in this order: group, user, streams, folder,
 * limit, signals, exec. A pipe that exec closes tells how it went: nothing in it is success, and a
 * spawn_failure names the step and its errno. The parent waits for either. A program that cannot be
 * started is therefore an error of the call, with a code and words for the user.
 *
 * Between fork and exec the child only makes system calls and touches its own stack. posix_spawn()
 * could not do these steps. */

/* As many bytes of a script's first line as the kernel reads. */
enum { INTERPRETER_MAX = 256 };

/* Defaults for all, because exec keeps signals that are ignored, and only `hold` blocked, because
 * exec keeps the mask as well. It comes last: a signal that was held until then may end the child
 * now. */
static void reset_signals(const struct child_options *o) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++)
        (void)sigaction(number, &action,
                        NULL); /* refused for KILL and STOP, as their action cannot change */
    sigset_t held;
    (void)sigemptyset(&held);
    for (size_t i = 0; i < CHILD_HOLD_MAX; i++)
        if (o->hold[i] > 0)
            (void)sigaddset(&held, o->hold[i]);
    if (o->hold_user_signals)
        user_signals_add(&held);
    (void)sigprocmask(SIG_SETMASK, &held, NULL);
}

/* Descriptors first move above 9, so that dup2() to a low number cannot overwrite another one.
 * Everything above 2 is closed by exec, except what the program is to keep. */
static int place_streams(const struct child_options *o) {
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int out = fcntl(o->out >= 0 ? o->out : 1, F_DUPFD_CLOEXEC, 10);
    int error_out = fcntl(o->error_out >= 0 ? o->error_out : 2, F_DUPFD_CLOEXEC, 10);
    if (in < 0 || out < 0 || error_out < 0)
        return -1;
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(error_out, 2) < 0)
        return -1;
    descriptors_close_on_exec(3);
    for (size_t i = 0; i < CHILD_KEEP_MAX; i++)
        if (o->keep[i] > 2 && fcntl(o->keep[i], F_SETFD, 0) != 0)
            return -1;
    return 0;
}

/* The operation at which the child failed, and its errno; 0: no failure. */
struct spawn_failure {
    int number;
    enum { AT_USER, AT_STREAMS, AT_FOLDER, AT_PROGRAM } at;
};

/* PARENT may have died before the death signal was set; then no signal comes, so the child looks
 * and ends by itself. The group is set first, so that once child_spawn() has returned a signal to
 * the group reaches the program. */
static _Noreturn void become(const struct child_options *o, pid_t parent, int report) {
    struct spawn_failure failure = {.at = AT_USER};
    if (o->group == CHILD_NEW_SESSION)
        (void)setsid();
    if (o->group == CHILD_NEW_GROUP)
        (void)setpgid(0, 0);
    if (o->as_user)
        failure.number = run_as_become();
    /* The kernel clears this setting when the process changes its user, so it is set again. */
    if (failure.number == 0 && o->death_signal != 0 &&
        prctl(PR_SET_PDEATHSIG, o->death_signal) != 0)
        failure.number = errno;
    if (o->death_signal != 0 && getppid() != parent)
        _exit(EXIT_CODE_INTERNAL);
    if (failure.number == 0 && place_streams(o) != 0)
        failure = (struct spawn_failure){errno, AT_STREAMS};
    if (failure.number == 0 && o->directory != NULL && chdir(o->directory) != 0)
        failure = (struct spawn_failure){errno, AT_FOLDER};
    if (failure.number == 0) {
        fd_limits_restore(o->open_files);
        reset_signals(o);
        (void)execve(o->file, o->argv, o->environment);
        failure = (struct spawn_failure){errno, AT_PROGRAM};
    }
    (void)!write(report, &failure, sizeof(failure));
    _exit(EXIT_CODE_NOT_EXECUTABLE);
}

/* Waits for exec, which closes the other end of the pipe. *RET is set if exec failed. Returns false
 * at the deadline, when a program lies on a disk that stalls. A failure arrives whole, as it is far
 * smaller than a pipe. */
static bool await_exec(int from, struct spawn_failure *ret) {
    struct pollfd p = {.fd = from, .events = POLLIN};
    int64_t deadline = clock_now() + CHILD_EXEC_SECONDS * CLOCK_SECOND;
    while (poll(&p, 1, clock_left_ms(deadline)) <= 0)
        if (clock_left_ms(deadline) == 0)
            return false;
    return read(from, ret, sizeof(*ret)) >= 0;
}

/* Reads the interpreter's path from the first line of a script; "" if there is none. The file may
 * be anything, so a FIFO must not block. */
static void read_interpreter(const char *file, char *ret, size_t size) {
    char line[INTERPRETER_MAX] = "";
    cleanup_fd int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ret[0] = '\0';
    if (fd < 0 || read(fd, line, sizeof(line) - 1) < 2 || line[0] != '#' || line[1] != '!')
        return;
    const char *name = line + 2 + strspn(line + 2, " \t");
    (void)snprintf(ret, size, "%.*s", (int)strcspn(name, " \t\r\n"), name);
}

/* The kernel returns ENOENT also if a script's interpreter or a program's loader is missing. Both
 * are common where an image is assembled from others, and "No such file" about a file that exists
 * helps nobody. */
static int fail_absent(const char *file, int number, struct error *err) {
    char name[INTERPRETER_MAX];
    struct elf_program program;
    if (access(file, F_OK) != 0) {
        errno = number;
        return error_set_errno(err, EXIT_CODE_NOT_FOUND, "%s", file);
    }
    read_interpreter(file, name, sizeof(name));
    (void)elf_program_read(file, &program);
    if (name[0] == '\0')
        return error_set(err, EXIT_CODE_NOT_FOUND,
                         "%s exists, but its loader%s%s does not: was it built for another C "
                         "library or system?",
                         file, program.loader[0] != '\0' ? " " : "", program.loader);
    return error_set(err, EXIT_CODE_NOT_FOUND,
                     "%s exists, but its interpreter, %s (first line), does not", file, name);
}

/* The kernel returns ENOEXEC for what it cannot execute, whatever the reason. A script's
 * interpreter is what it looks at. A program for another processor is distinguished from a file
 * that is no program. */
static int fail_foreign(const char *file, int number, struct error *err) {
    char name[INTERPRETER_MAX];
    struct elf_program program;
    struct elf_program own;
    read_interpreter(file, name, sizeof(name));
    const bool is_elf = elf_program_read(name[0] != '\0' ? name : file, &program);
    errno = number;
    if (!is_elf)
        return error_set_errno(err, EXIT_CODE_NOT_EXECUTABLE,
                               "%s, which is no program and names no interpreter (#!)", file);
    if (!elf_program_read("/proc/self/exe", &own) || strcmp(own.processor, program.processor) == 0)
        return error_set_errno(err, EXIT_CODE_NOT_EXECUTABLE, "%s", file);
    return error_set_errno(
        err, EXIT_CODE_NOT_EXECUTABLE, "%s%s%s is built for %s, and this host runs programs for %s",
        file, name[0] != '\0' ? ": its interpreter " : "", name, program.processor, own.processor);
}

/* Chooses the code as a shell would: 127 if the program or its folder is not there, else 126. */
static int fail_to_start(const struct child_options *o, const struct spawn_failure *failure,
                         struct error *err) {
    const bool absent = failure->number == ENOENT || failure->number == ENOTDIR;
    if (absent && failure->at == AT_PROGRAM)
        return fail_absent(o->file, failure->number, err);
    if (failure->number == ENOEXEC && failure->at == AT_PROGRAM)
        return fail_foreign(o->file, failure->number, err);
    errno = failure->number;
    if (failure->at == AT_STREAMS)
        return error_set_errno(err, EXIT_CODE_NOT_EXECUTABLE,
                               "%s: its standard streams, of which the first is /dev/null",
                               o->file);
    if (failure->at == AT_FOLDER)
        return error_set_errno(err, absent ? EXIT_CODE_NOT_FOUND : EXIT_CODE_NOT_EXECUTABLE,
                               "%s: its working folder, %s", o->file, o->directory);
    return error_set_errno(err, EXIT_CODE_NOT_EXECUTABLE, "%s", o->file);
}

/* Blocks until exec, for CHILD_EXEC_SECONDS at most. The pid is the caller's to signal until the
 * reaper has reported its end. */
int child_spawn(const struct child_options *o, pid_t *ret_pid, struct error *err) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "starting %s: pipe", o->file);
    cleanup_fd int from = ends[0];
    cleanup_fd int to = fcntl(ends[1], F_DUPFD_CLOEXEC, 10); /* clear of 0, 1 and 2 */
    (void)close(ends[1]);
    pid_t parent = getpid();
    pid_t pid = to < 0 ? -1 : fork();
    if (pid < 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "starting %s", o->file);
    if (pid == 0)
        become(o, parent, to);
    /* From here on only the child has this end, so that exec closes it. */
    (void)close(take_fd(&to));

    struct spawn_failure failure = {0};
    if (!await_exec(from, &failure)) {
        (void)kill(pid, SIGKILL); /* reaped as an orphan once the disk responds */
        return error_set(err, EXIT_CODE_NOT_EXECUTABLE, "%s did not start within %d s", o->file,
                         CHILD_EXEC_SECONDS);
    }
    if (failure.number != 0) {
        (void)waitpid(pid, NULL, 0);
        return fail_to_start(o, &failure, err);
    }
    *ret_pid = pid;
    return 0;
}

/* C stays in place until its end was reported or it is forgotten. */
void reaper_add(struct reaper *r, struct child *c) {
    c->next = r->children;
    r->children = c;
}

/* A child that was forgotten is reaped like an orphan. One that is not in the list is fine. */
void reaper_forget(struct reaper *r, struct child *c) {
    for (struct child **slot = &r->children; *slot != NULL; slot = &(*slot)->next)
        if (*slot == c) {
            *slot = c->next;
            return;
        }
}

/* A callback may add and forget children: the list is searched anew for each pid. */
bool reaper_run(struct reaper *r) {
    for (;;) {
        int status = 0;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid <= 0)
            return pid == 0;
        struct child *c = r->children;
        while (c != NULL && c->pid != pid)
            c = c->next;
        if (c == NULL) {
            r->orphans++;
            continue;
        }
        reaper_forget(r, c);
        c->ended(c->context, status);
    }
}

/* For STATUS of a child that has ended; stops and continuations are not waited for. */
int child_exit_code(int status) {
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
