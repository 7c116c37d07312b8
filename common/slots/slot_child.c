#include "common/slots/slot_child.h"

#include "common/cleanup.h"
#include "common/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* No handler of this process and no blocked signal is passed on. */
static int set_attributes(posix_spawnattr_t *a) {
    sigset_t none, all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    int failed = posix_spawnattr_setsigmask(a, &none);
    failed = failed != 0 ? failed : posix_spawnattr_setsigdefault(a, &all);
    failed = failed != 0 ? failed : posix_spawnattr_setpgroup(a, 0);
    return failed != 0
               ? failed
               : posix_spawnattr_setflags(a, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                 POSIX_SPAWN_SETPGROUP);
}

static int spawn(pid_t *ret, char *const *argv, char *const *environment, int out) {
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    if (posix_spawnattr_init(&attributes) != 0)
        return ENOMEM;
    if (posix_spawn_file_actions_init(&files) != 0) {
        (void)posix_spawnattr_destroy(&attributes);
        return ENOMEM;
    }
    int failed = set_attributes(&attributes);
    if (failed == 0)
        failed = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (failed == 0)
        failed = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    if (failed == 0)
        failed = posix_spawn_file_actions_adddup2(&files, out, STDERR_FILENO);
    if (failed == 0)
        failed = posix_spawnp(ret, argv[0], &files, &attributes, argv, environment);
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&attributes);
    return failed;
}

int slot_child_start(struct slot_child *c, char *const *argv, char *const *environment,
                     const char *output, bool anew, struct error *err) {
    *c = (struct slot_child){.pidfd = -1, .begun = clock_now(), .heard = clock_now()};
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (anew ? O_TRUNC : 0);
    cleanup_fd int out = open(output, flags, 0644);
    if (out < 0)
        return error_set_errno(err, EXIT_CODE_CONFIG, "%s", output);
    (void)snprintf(c->output, sizeof(c->output), "%s", output);
    const int failed = spawn(&c->pid, argv, environment, out);
    if (failed != 0) {
        errno = failed;
        return error_set_errno(err,
                               failed == ENOENT ? EXIT_CODE_NOT_FOUND : EXIT_CODE_NOT_EXECUTABLE,
                               "starting %s", argv[0]);
    }
    c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
    if (c->pidfd >= 0)
        return 0;
    (void)error_set_errno(err, EXIT_CODE_INTERNAL, "watching process %d", (int)c->pid);
    (void)kill(-c->pid, SIGKILL);
    (void)waitpid(c->pid, NULL, 0);
    return -1;
}

bool slot_child_runs(const struct slot_child *c) {
    return c->pidfd >= 0;
}

void slot_child_end(struct slot_child *c, int64_t grace) {
    if (!slot_child_runs(c) || c->kill != 0)
        return;
    c->kill = clock_now() + grace;
    (void)kill(-c->pid, SIGTERM);
    (void)kill(-c->pid, SIGCONT); /* a stopped one gets it, too */
}

static void take(struct slot_child *c) {
    int status = 0;
    pid_t pid;
    /* Whatever it started and left running. Until it is reaped, no other group can have its number.
     */
    (void)kill(-c->pid, SIGKILL);
    do
        pid = waitpid(c->pid, &status, 0);
    while (pid < 0 && errno == EINTR);
    c->code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    (void)close(c->pidfd);
    c->pidfd = -1;
}

void slot_child_look(struct slot_child *c, int64_t now) {
    struct pollfd ended = {.fd = c->pidfd, .events = POLLIN};
    struct stat about;
    if (!slot_child_runs(c))
        return;
    if (stat(c->output, &about) == 0 && about.st_size != c->size) {
        c->size = about.st_size;
        c->heard = now;
    }
    if (c->kill != 0 && now >= c->kill)
        (void)kill(-c->pid, SIGKILL);
    if (poll(&ended, 1, 0) == 1)
        take(c);
}

void slot_child_done(struct slot_child *c) {
    if (!slot_child_runs(c))
        return;
    (void)kill(-c->pid, SIGKILL);
    take(c);
}
