#include "entrypoint/host/failover/shared_dir_probe.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/descriptors.h"
#include "entrypoint/job/job.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

/* Before a job with failover begins, the master lets all hosts take three steps one after the other
 * (master/failover/shared_dir.c): write, read what the host before has written, remove. Only a
 * directory that all hosts share passes, so that a new master finds the checkpoints of the old one.
 *
 * The disk may be a network file system that hangs. A forked child therefore does each step and
 * sends a text back: empty for success, else that of an errno. */

int shared_dir_probe_word(char ret[SHARED_DIR_PROBE_WORD_SIZE], struct error *err) {
    uint64_t numbers[2];
    if (getrandom(numbers, sizeof(numbers), 0) != (ssize_t)sizeof(numbers))
        return error_set_errno(err, EXIT_CODE_INTERNAL,
                               "drawing a random word for the probe of the checkpoint folder");
    (void)snprintf(ret, SHARED_DIR_PROBE_WORD_SIZE, "%016" PRIx64 "%016" PRIx64, numbers[0],
                   numbers[1]);
    return 0;
}

/* --- the child -------------------------------------------------------------------------------- */

/* O_EXCL refuses a file that is there already, so a file of another run cannot pass for this one's.
 * The word is on the disk or server before success is reported. errno says why it failed, and then
 * no file is left. */
static int put(const char *path, const char *word) {
    cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return -1;
    ssize_t size = (ssize_t)strlen(word);
    if (write(fd, word, (size_t)size) == size && fsync(fd) == 0)
        return 0;
    int why = errno;
    (void)unlink(path);
    errno = why;
    return -1;
}

/* Returns 0 if the file holds WORD and nothing else. O_NONBLOCK keeps a FIFO of that name from
 * blocking the child. ESTALE stands for wrong content, as a client with an old cache would see it.
 */
static int compare(const char *path, const char *word) {
    char text[SHARED_DIR_PROBE_WORD_SIZE];
    cleanup_fd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t got = read(fd, text, sizeof(text));
    if (got < 0)
        return -1;
    if ((size_t)got == strlen(word) && memcmp(text, word, (size_t)got) == 0)
        return 0;
    errno = ESTALE;
    return -1;
}

/* Removes a file. One that could not be written does not exist, and of two hosts that remove the
 * same file the second finds nothing. Both files are tried even if the first fails; errno is the
 * first reason. */
static int take_away(const char *path, const char *other) {
    int why = unlink(path) == 0 || errno == ENOENT ? 0 : errno;
    if (unlink(other) != 0 && errno != ENOENT && why == 0)
        why = errno;
    errno = why;
    return why == 0 ? 0 : -1;
}

/* The answer is smaller than PIPE_BUF, so it is written at once or not at all. Descriptor 3 becomes
 * the pipe and all others are closed, links to other hosts among them: a child that hangs on a disk
 * must not keep them open. */
static _Noreturn void work(const char *path, const char *other, enum shared_dir_probe_step step,
                           const char *word, int to) {
    (void)dup2(to, 3);
    descriptors_close(4);
    int result = step == SHARED_DIR_PROBE_WRITE  ? put(path, word)
                 : step == SHARED_DIR_PROBE_READ ? compare(path, word)
                                                 : take_away(path, other);
    const char *answer = result == 0 ? "" : strerror(errno);
    (void)!write(3, answer, strlen(answer));
    _exit(0);
}

/* --- parent ----------------------------------------------------------------------------------- */

/* Also for a child that still runs: its answer is not read then. */
static void forget(struct shared_dir_probe *p) {
    loop_cancel(p->services->loop, &p->deadline);
    (void)close(p->answer);
    p->child.pid = 0;
}

/* Called by the reaper, so the child is gone and its answer, if any, is in the pipe. An empty
 * answer is success; a child that was killed has answered nothing either, so its status is looked
 * at first. */
static void ended(void *context, int status) {
    struct shared_dir_probe *p = context;
    struct error fault = {0};
    char text[256];
    ssize_t got = read(p->answer, text, sizeof(text) - 1);
    text[got > 0 ? got : 0] = '\0';
    forget(p);
    if (!WIFEXITED(status))
        (void)error_set(&fault, EXIT_CODE_CONFIG, "%s: the process that probed it was killed",
                        p->folder);
    else if (text[0] != '\0')
        (void)error_set(&fault, EXIT_CODE_CONFIG, "%s: %s", p->folder, text);
    p->done(p->context, fault.code != 0 ? &fault : NULL);
}

void shared_dir_probe_close(struct shared_dir_probe *p) {
    if (p->services == NULL || p->child.pid <= 0)
        return;
    (void)kill(p->child.pid, SIGKILL);
    reaper_forget(p->services->reaper, &p->child);
    forget(p);
}

/* Does not wait for the child's end: while a disk blocks it, even SIGKILL has no effect. The reaper
 * takes it later, as a child that is not waited for. */
static void late(void *context) {
    struct shared_dir_probe *p = context;
    struct error fault = {0};
    (void)error_set(&fault, EXIT_CODE_CONFIG, "%s: it did not answer within %d s", p->folder,
                    SHARED_DIR_PROBE_SECONDS);
    shared_dir_probe_close(p);
    p->done(p->context, &fault);
}

/* The run ID keeps two jobs that share a folder apart, and the number hosts of one job. The leading
 * dot hides the file from programs that list checkpoints. */
static int path_of(const char *base, const char *run, size_t host, char ret[PATH_MAX],
                   struct error *err) {
    int size = snprintf(ret, PATH_MAX, "%s/checkpoints/.ringmaster-%s-%zu", base, run, host);
    if (size >= 0 && size < PATH_MAX)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG, "SAGEMAKER_BASE_DIR is too long");
}

/* OTHER is the file that this host has read: the one of the host before it, for the step that
 * removes. The folder's path is kept for messages alone. The pipe does not block, so that reading
 * it never holds up the loop. */
int shared_dir_probe_start(struct shared_dir_probe *p, const struct services *services,
                           const struct shared_dir_probe_options *o, struct error *err) {
    const struct job *job = services->job;
    const char *base = job->settings.base_dir;
    int ends[2];
    char path[PATH_MAX];
    char other[PATH_MAX];
    shared_dir_probe_close(p);
    *p = (struct shared_dir_probe){
        .services = services, .step = o->step, .done = o->done, .context = o->context};
    p->child = (struct child){.ended = ended, .context = p};
    p->deadline = (struct timer){.fire = late, .context = p};
    if (path_of(base, o->run, o->host, path, err) != 0 ||
        path_of(base, o->run, (o->host > 0 ? o->host : job->cluster.count) - 1, other, err) != 0)
        return -1;
    (void)snprintf(p->folder, sizeof(p->folder), "%.*s/checkpoints", PATH_MAX - 32, base);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return error_set_errno(err, EXIT_CODE_INTERNAL, "looking at %s", p->folder);
    p->answer = ends[0];
    p->child.pid = fork();
    if (p->child.pid == 0)
        work(path, other, o->step, o->word, ends[1]);
    (void)close(ends[1]);
    if (p->child.pid < 0) {
        (void)close(ends[0]);
        return error_set_errno(err, EXIT_CODE_INTERNAL, "looking at %s", p->folder);
    }
    reaper_add(p->services->reaper, &p->child);
    loop_after(p->services->loop, &p->deadline, SHARED_DIR_PROBE_SECONDS * CLOCK_SECOND);
    return 0;
}
