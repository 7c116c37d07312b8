#include "traces/failure_child.h"

#include "common/clock.h"
#include "common/log.h"
#include "outcome/failure.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char kept[] = "the failure file that the program wrote is kept";
static const char too_late[] = "the disk did not answer in time";
static const char not_written[] = "the failure file was not written";

/* VERDICT NULL: the beginning. The answer is below PIPE_BUF: at once or not at all. */
static _Noreturn void work(const char *base_dir, const struct verdict *verdict, int64_t clear_by,
                           int to) {
    struct error err = {0};
    bool is_kept = false;
    const char *answer = "";
    (void)dup2(to, 3);
    (void)syscall(SYS_close_range, 4U, ~0U, 0U);
    if (clear_by > 0)
        failure_clear(base_dir, clear_by);
    if (verdict == NULL) {
        (void)failure_reserve(base_dir, &err); /* a disk that is full now may be less so then */
    } else if (verdict->code == EXIT_CODE_OK) {
        failure_none(base_dir);
    } else if (failure_write(base_dir, verdict, &is_kept, &err) != 0) {
        answer = err.text;
    } else if (is_kept) {
        answer = kept;
    }
    (void)!write(3, answer, strlen(answer));
    _exit(0);
}

/* Returns the pid, and in *RET_ANSWER the descriptor to read its answer from; -1 on failure. */
static pid_t start(const char *base_dir, const struct verdict *verdict, int64_t clear_by,
                   int *ret_answer) {
    int ends[2];
    *ret_answer = -1;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0)
        work(base_dir, verdict, clear_by, ends[1]);
    int why = errno;
    (void)close(ends[1]);
    if (pid < 0)
        (void)close(ends[0]);
    else
        *ret_answer = ends[0];
    errno = why;
    return pid;
}

static void tell(int answer, int status) {
    char text[ERROR_TEXT_MAX];
    ssize_t got = read(answer, text, sizeof(text) - 1);
    text[got > 0 ? got : 0] = '\0';
    if (strcmp(text, kept) == 0)
        log_info("%s", kept);
    else if (text[0] != '\0')
        log_warning("%s: %s", not_written, text);
    else if (WIFSIGNALED(status))
        log_warning("%s: %s", not_written, too_late);
}

static void forget(struct failure_child *f) {
    if (f->answer >= 0)
        (void)close(f->answer);
    f->answer = -1;
    f->child.pid = 0;
}

static void ended(void *context, int status) {
    struct failure_child *f = context;
    if (WIFEXITED(status))
        f->clear_by = 0;
    f->written = f->writes && WIFEXITED(status);
    tell(f->answer, status);
    forget(f);
}

static void drop(struct failure_child *f) {
    if (f->child.pid <= 0)
        return;
    (void)kill(f->child.pid, SIGKILL);
    reaper_forget(f->reaper, &f->child);
    forget(f);
}

void failure_child_open(struct failure_child *f, struct reaper *reaper, const char *base_dir) {
    *f = (struct failure_child){.reaper = reaper, .base_dir = base_dir, .answer = -1};
}

void failure_child_close(struct failure_child *f) {
    if (f->reaper == NULL)
        return;
    if (f->child.pid > 0 && f->writes)
        log_warning("%s: %s", not_written, too_late);
    if (f->owed != 0 && f->writes)
        log_warning("%s: %s", not_written, strerror(f->owed));
    drop(f);
    f->reaper = NULL;
}

static void run(struct failure_child *f, const struct verdict *verdict) {
    drop(f); /* one that is still at it has waited for the disk all this time */
    f->child = (struct child){.ended = ended, .context = f};
    f->writes = verdict != NULL && verdict->code != EXIT_CODE_OK;
    f->child.pid = start(f->base_dir, verdict, f->clear_by, &f->answer);
    f->owed = f->child.pid < 0 && verdict != NULL ? errno : 0;
    if (f->child.pid > 0)
        reaper_add(f->reaper, &f->child);
}

void failure_child_prepare(struct failure_child *f) {
    f->clear_by = clock_now() + FAILURE_CHILD_PATIENCE;
    f->written = false;
    run(f, NULL);
}

void failure_child_conclude(struct failure_child *f, const struct verdict *verdict) {
    if (!f->written || verdict->code == EXIT_CODE_OK)
        run(f, verdict);
}

bool failure_child_again(struct failure_child *f, const struct verdict *verdict) {
    if (f->owed == 0)
        return false;
    run(f, verdict);
    return true;
}

void failure_child_run(const char *base_dir, const struct verdict *verdict) {
    int answer = -1;
    pid_t pid = start(base_dir, verdict, 0, &answer);
    if (pid <= 0)
        return;
    struct pollfd p = {.fd = answer, .events = POLLIN};
    int64_t deadline = clock_now() + FAILURE_CHILD_PATIENCE;
    bool is_ended = false;
    while (!is_ended && clock_left_ms(deadline) > 0)
        is_ended = poll(&p, 1, clock_left_ms(deadline)) > 0;
    int status = SIGKILL; /* where it could not be waited for */
    if (is_ended)
        (void)waitpid(pid, &status, 0);
    else
        (void)kill(pid, SIGKILL);
    tell(answer, status);
    (void)close(answer);
}
