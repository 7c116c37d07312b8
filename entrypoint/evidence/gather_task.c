#include "entrypoint/evidence/gather_task.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/descriptors.h"
#include "common/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READ_SIZE = 64 * 1024 };

void gather_task_init(struct gather_task *t, const struct evidence_row *row,
                      const struct gather_order *order, const struct gather_rank *rank) {
    *t = (struct gather_task){.row = row, .subject = {.order = order}, .out = -1, .file = -1};
    if (rank != NULL) {
        t->subject.rank = rank->rank;
        t->subject.shim = rank->shim;
    }
    buf_init(&t->kept, GATHER_TASK_KEPT);
}

static void close_fd(int *fd) {
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

/* The group holds the tools that the row has started. */
static void end_child(struct gather_task *t) {
    if (t->child > 0) {
        (void)kill(-t->child, SIGKILL);
        (void)waitpid(t->child, NULL, WNOHANG);
    }
    t->child = 0;
    close_fd(&t->out);
    close_fd(&t->file);
}

void gather_task_done(struct gather_task *t) {
    end_child(t);
    buf_done(&t->kept);
}

/* SIGTERM is for the parent, which ends its rows itself. */
static void ignore_the_end(void) {
    sigset_t none;
    (void)signal(SIGTERM, SIG_IGN);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void run(const struct gather_task *t, int out, pid_t parent) {
    ignore_the_end();
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || dup2(out, STDOUT_FILENO) < 0)
        _exit(EXIT_CODE_INTERNAL);
    descriptors_close_on_exec(3);
    int code = t->row->gather(&t->subject);
    (void)fflush(stdout);
    _exit(code);
}

int gather_task_start(struct gather_task *t, int64_t deadline, struct error *err) {
    int ends[2];
    const int64_t own = clock_now() + t->row->milliseconds * CLOCK_MILLISECOND;
    t->begun = true;
    t->subject.deadline = own < deadline ? own : deadline;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "a pipe");
    cleanup_fd int out = ends[0];
    cleanup_fd int to = ends[1];
    pid_t parent = getpid();
    (void)fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "a process");
    if (child == 0)
        run(t, to, parent);
    (void)setpgid(child, child);
    (void)fcntl(out, F_SETFL, O_NONBLOCK);
    t->child = child;
    t->out = take_fd(&out);
    return 0;
}

/* A file of that name from before is about another time of the same attempt. */
static void open_file(struct gather_task *t, int folder) {
    char name[EVIDENCE_FILE_SIZE];
    evidence_row_file(t->row, t->subject.order->host, t->subject.rank, name);
    (void)unlinkat(folder, name, 0);
    t->file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
}

static void keep(struct gather_task *t, const char *bytes, size_t size, int folder, size_t *room) {
    size_t fit = size;
    if (t->file < 0)
        open_file(t, folder);
    if (fit > *room)
        fit = *room;
    if (fit > t->row->most - t->bytes)
        fit = t->row->most - t->bytes;
    t->cut = t->cut || fit < size;
    size_t kept = GATHER_TASK_KEPT - t->kept.size;
    (void)buf_add(&t->kept, bytes, size < kept ? size : kept, NULL);
    if (t->file < 0 || file_write_all(t->file, bytes, fit, NULL) != 0)
        return;
    t->bytes += fit;
    *room -= fit;
}

void gather_task_read(struct gather_task *t, int folder, size_t *room) {
    static char bytes[READ_SIZE];
    for (;;) {
        ssize_t got = read(t->out, bytes, sizeof(bytes));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        if (got > 0)
            keep(t, bytes, (size_t)got, folder, room);
        if (got <= 0 || t->cut) {
            end_child(t);
            return;
        }
    }
}

void gather_task_expire(struct gather_task *t, int folder, size_t *room) {
    if (t->out < 0)
        return;
    t->late = true;
    (void)kill(-t->child, SIGKILL);
    gather_task_read(t, folder, room);
    end_child(t);
}
