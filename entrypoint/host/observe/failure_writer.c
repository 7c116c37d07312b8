#include "entrypoint/host/observe/failure_writer.h"

#include "common/clock.h"
#include "common/log/log.h"
#include "common/run_id.h"
#include "entrypoint/host/observe/output_lock.h"
#include "entrypoint/os/file_writer_process.h"
#include "entrypoint/outcome/failure_file.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* One child at a time works in the output folder, first to clear it and to reserve room, later to
 * write the file for the verdict. It is forked and executes nothing, because the order is a struct
 * with pointers and the child needs only the disk. A later task kills the child of an earlier one:
 * it has waited for the disk all this time.
 *
 * The answer is one packet on a socket: the state of the lock, its descriptor if it is new, and a
 * text, "" for success (output_lock.h). Texts that this file itself made are compared with strcmp()
 * to choose how to log them.
 *
 * A start that failed, because a container has too many processes, is remembered in `owed`.
 * supervisor_conclude.c tries again when all other processes are gone. */

static const char kept[] = "the failure file that the program wrote is kept";
static const char too_late[] = "the disk did not answer in time";
static const char not_written[] = "the failure file was not written";
static const char no_base[] = FILE_WRITER_NO_BASE;

static const char anothers[] = "another running host has this output directory";
static const char outer[] =
    "the ringmaster around this one has this output directory: run the program "
    "itself, not ringmaster, or set SAGEMAKER_BASE_DIR to another directory";
static const char left[] = "another host had this output directory; its files are kept";
_Static_assert(sizeof(((struct error *)NULL)->text) <= OUTPUT_LOCK_TEXT_SIZE, "whole");

/* Task of this process. With VERDICT NULL: at the start of the job. */
struct order {
    const char *base_dir;
    const struct verdict *verdict;
    int64_t clear_by;
    bool refused;  /* the verdict concerns this host alone */
    bool reported; /* a file for this verdict exists */
    bool last;     /* no further task follows */
};

/* Writes the file. Returns the answer, "" if there is nothing to report. A verdict of success
 * leaves `success` in its place. After an early verdict the file is there already, and is not
 * written twice. */
static const char *conclude(const struct order *o, struct error *err) {
    bool is_kept = false;
    if (o->reported)
        return "";
    if (o->verdict->code == EXIT_CODE_OK)
        failure_file_none(o->base_dir);
    else if (access(o->base_dir, F_OK) != 0 && errno == ENOENT)
        return no_base;
    else if (failure_file_write(o->base_dir, o->verdict, &is_kept, err) != 0)
        return err->text;
    return is_kept ? kept : "";
}

/* Names the folder's owner. Programs of a job have its run ID in their environment. */
static const char *owner(void) {
    return getenv(ATTEMPT_RUN_VARIABLE) != NULL ? outer : anothers;
}

/* The folder may belong to another process, which is alive or has left its final result there. A
 * refused host does not decide the job's result: if another process has the folder, that one's job
 * reports there. */
static const char *work_in_folder(const struct order *o, struct error *err) {
    const struct verdict *v = o->verdict;
    enum output_lock claim = output_lock_take(v == NULL);
    bool fails = v != NULL && v->code != EXIT_CODE_OK;
    if (claim == OUTPUT_LOCK_ANOTHERS || (v != NULL && o->refused && output_lock_is_shared()))
        return fails ? owner() : "";
    if (v != NULL && claim == OUTPUT_LOCK_INHERITED && failure_file_exists(o->base_dir))
        return fails ? left : "";
    if (o->clear_by > 0)
        failure_file_clear(o->base_dir, o->clear_by);
    if (v != NULL)
        return conclude(o, err);
    (void)failure_file_reserve(o->base_dir, err); /* a disk that is full now may have room later */
    return "";
}

/* The answer is small, so it is written at once or not at all. _exit() runs no handlers and flushes
 * no buffers, which belong to the parent. */
static _Noreturn void work(const struct order *o, int to) {
    struct error err = {0};
    output_lock_close_others(to);
    const char *answer = work_in_folder(o, &err);
    if (o->last)
        output_lock_leave();
    output_lock_send(answer);
    _exit(0);
}

/* Returns the pid, and in *RET_ANSWER the descriptor of the answer; -1 on failure. errno is kept,
 * as the caller records it. The socket keeps packets whole, so the text needs no length. */
static pid_t start(const struct order *o, int *ret_answer) {
    int ends[2];
    *ret_answer = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0)
        work(o, ends[1]);
    int why = errno;
    (void)close(ends[1]);
    if (pid < 0)
        (void)close(ends[0]);
    else
        *ret_answer = ends[0];
    errno = why;
    return pid;
}

/* Reports the child's answer. A machine that is not a SageMaker container has no BASE_DIR, which is
 * no error. */
static void log_answer(const char *base_dir, int answer, int status) {
    char text[OUTPUT_LOCK_TEXT_SIZE];
    output_lock_receive(answer, text);
    if (strcmp(text, kept) == 0)
        log_info("%s", kept);
    else if (strcmp(text, no_base) == 0)
        log_info("no failure file: %s: %s; a volume on %s/output keeps it", base_dir, no_base,
                 base_dir);
    else if (text[0] != '\0')
        log_warning("%s: %s", not_written, text);
    else if (WIFSIGNALED(status))
        log_warning("%s: %s", not_written, too_late);
}

static void forget(struct failure_writer *f) {
    if (f->answer >= 0)
        (void)close(f->answer);
    f->answer = -1;
    f->child.pid = 0;
}

/* The reaper calls it with the child's status. A child that exited has cleared the folder, so that
 * need not be done again. One that was killed may not have. */
static void ended(void *context, int status) {
    struct failure_writer *f = context;
    if (WIFEXITED(status))
        f->clear_by = 0;
    f->written |= f->writes && WIFEXITED(status);
    log_answer(f->base_dir, f->answer, status);
    forget(f);
}

/* Ends a child that still runs, and takes what it has sent so far: with the lock's descriptor this
 * process keeps the folder. A child that a disk holds cannot be killed yet and may hold the lock
 * for a while: output_lock_child_killed() notes that. */
static void drop(struct failure_writer *f) {
    char ignored[OUTPUT_LOCK_TEXT_SIZE];
    if (f->child.pid <= 0)
        return;
    output_lock_receive(f->answer, ignored); /* the child may be done, and hold the folder */
    (void)kill(f->child.pid, SIGKILL);
    output_lock_child_killed();
    reaper_forget(f->reaper, &f->child);
    forget(f);
}

void failure_writer_open(struct failure_writer *f, struct reaper *reaper, const char *base_dir) {
    *f = (struct failure_writer){.reaper = reaper, .base_dir = base_dir, .answer = -1};
    output_lock_begin(base_dir);
}

/* Two reasons for a missing file: the disk has not answered, or no child could be started. */
void failure_writer_close(struct failure_writer *f) {
    if (f->reaper == NULL)
        return;
    if (f->child.pid > 0 && f->writes)
        log_warning("%s: %s", not_written, too_late);
    if (f->owed != 0 && f->writes)
        log_warning("%s: %s", not_written, strerror(f->owed));
    drop(f);
    f->reaper = NULL;
}

/* A check writes no file unless it has failed: it may look at a container in which a job has left
 * its result. */
static void run(struct failure_writer *f, const struct verdict *verdict, bool last) {
    if (f->check && (verdict == NULL || verdict->code == EXIT_CODE_OK))
        return;
    drop(f); /* a child that is still running has waited for the disk all this time */
    f->child = (struct child){.ended = ended, .context = f};
    f->writes = verdict != NULL && verdict->code != EXIT_CODE_OK;
    const struct order order = {.base_dir = f->base_dir,
                                .verdict = verdict,
                                .clear_by = f->clear_by,
                                .refused = f->refused,
                                .reported = f->written && verdict != NULL && verdict->code != 0,
                                .last = last};
    f->child.pid = start(&order, &f->answer);
    f->owed = f->child.pid < 0 && verdict != NULL ? errno : 0;
    if (f->child.pid > 0)
        reaper_add(f->reaper, &f->child);
}

void failure_writer_prepare(struct failure_writer *f) {
    f->clear_by = f->check ? INT64_MAX : clock_now() + FAILURE_WRITER_PATIENCE;
    f->written = false;
    run(f, NULL, false);
}

void failure_writer_conclude_early(struct failure_writer *f, const struct verdict *verdict) {
    run(f, verdict, false);
}

void failure_writer_conclude(struct failure_writer *f, const struct verdict *verdict) {
    run(f, verdict, true);
}

/* Nothing is owed if the child was started, however it ended. */
bool failure_writer_again(struct failure_writer *f, const struct verdict *verdict) {
    if (f->owed == 0)
        return false;
    run(f, verdict, true);
    return true;
}

/* For a process that failed before it had a loop. poll() takes the place of the reaper: the answer,
 * or the end of the child, makes the socket readable. */
void failure_writer_run(const char *base_dir, bool clear, const struct verdict *verdict) {
    int answer = -1;
    const struct order order = {.base_dir = base_dir,
                                .verdict = verdict,
                                .clear_by = clear ? clock_now() + FAILURE_WRITER_PATIENCE : 0,
                                .last = true};
    output_lock_begin(base_dir);
    pid_t pid = start(&order, &answer);
    if (pid <= 0)
        return;
    struct pollfd p = {.fd = answer, .events = POLLIN};
    int64_t deadline = clock_now() + FAILURE_WRITER_PATIENCE;
    bool is_ended = false;
    while (!is_ended && clock_left_ms(deadline) > 0)
        is_ended = poll(&p, 1, clock_left_ms(deadline)) > 0;
    int status = SIGKILL; /* if waitpid() fails */
    if (is_ended)
        (void)waitpid(pid, &status, 0);
    else
        (void)kill(pid, SIGKILL);
    log_answer(base_dir, answer, status);
    (void)close(answer);
}
