#include "entrypoint/host/observe/output_lock.h"

#include "common/cleanup.h"
#include "common/file/descriptors.h"
#include "common/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

/* The locks are open file description locks (F_OFD_SETLK, see fcntl(2)). They belong to the
 * descriptor, not to a process. A child can therefore take one and hand the descriptor to its
 * parent. Closing another descriptor of the file does not release it, as it would a POSIX record
 * lock.
 *
 * Two bytes of the file are locked. The owner of the folder has an exclusive lock on OWNER until
 * its end. Every process that uses the folder, the owner included, has a shared lock on THERE. A
 * process that leaves tries to lock THERE exclusively: if that works, no other process uses the
 * folder, and the file can go.
 *
 * The state is static, because the process has one output folder. A child inherits a copy at the
 * fork, works with it and sends back what has changed. */

/* Descriptors of the child, above the standard streams. */
enum { SOCKET = 3, FILE_PLACE = 4 };
/* Locked bytes of the file. Every process that uses the folder has a shared lock on THERE. */
enum { OWNER = 0, THERE = 1 };
/* Microseconds until the wait for a killed child's lock is given up, and between later signals. */
enum { WAIT_US = 500000 };

static const char name[] = "/.failure-owner";

static struct {
    char base[PATH_MAX];
    int fd;     /* -1: none */
    bool fresh; /* opened by this child, and unknown to its parent so far */
    bool waits; /* a killed child may still hold the lock */
    enum output_lock state;
} own = {.fd = -1};

void output_lock_end(void) {
    if (own.fd >= 0)
        (void)close(own.fd);
    own.fd = -1;
    own.state = OUTPUT_LOCK_NONE;
    own.base[0] = '\0';
}

void output_lock_child_killed(void) {
    own.waits = true;
}

/* With the same folder the lock is kept: a later role of this process still owns it. */
void output_lock_begin(const char *base_dir) {
    if (strcmp(own.base, base_dir) == 0)
        return;
    output_lock_end();
    own.waits = false;
    (void)snprintf(own.base, sizeof(own.base), "%s", base_dir);
}

/* --- in the child ----------------------------------------------------------------------------- */

void output_lock_close_others(int to) {
    /* Both descriptors first move above their places, so that neither overwrites the other. */
    int high = fcntl(to, F_DUPFD, FILE_PLACE + 1);
    int file = own.fd >= 0 ? fcntl(own.fd, F_DUPFD, FILE_PLACE + 1) : -1;
    (void)dup2(high, SOCKET);
    (void)close(FILE_PLACE);
    own.fd = file >= 0 ? dup2(file, FILE_PLACE) : -1;
    descriptors_close(FILE_PLACE + 1);
}

static bool lock_by(int how, short type, off_t byte) {
    struct flock one = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    return fcntl(own.fd, how, &one) == 0;
}

/* Returns false with EAGAIN or EACCES if another process has it, and with another errno where the
 * file system has no locks. */
static bool lock(short type, off_t byte) {
    return lock_by(F_OFD_SETLK, type, byte);
}

/* SIGALRM needs a handler, as it would end the process otherwise. It interrupts the wait. */
static void wake(int signal) {
    (void)signal;
}

/* Waits for the lock: the kernel releases it a moment after its owner is killed. The timer repeats,
 * because its first signal could arrive before the wait begins. */
static bool lock_soon(short type, off_t byte) {
    const struct itimerval soon = {.it_value = {.tv_usec = WAIT_US},
                                   .it_interval = {.tv_usec = WAIT_US}};
    const struct sigaction action = {.sa_handler = wake};
    sigset_t timer;
    (void)sigemptyset(&timer);
    (void)sigaddset(&timer, SIGALRM);
    if (sigaction(SIGALRM, &action, NULL) != 0 || setitimer(ITIMER_REAL, &soon, NULL) != 0 ||
        sigprocmask(SIG_UNBLOCK, &timer, NULL) != 0)
        return lock(type, byte);
    bool has = lock_by(F_OFD_SETLKW, type, byte);
    (void)setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    return has;
}

/* Returns true if another process's lock prevents an exclusive one. */
static bool is_held(off_t byte) {
    struct flock one = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    return fcntl(own.fd, F_OFD_GETLK, &one) == 0 && one.l_type != F_UNLCK;
}

/* The path of the output folder, followed by BEHIND; "": the folder itself. */
static bool find(const char *behind, char ret[PATH_MAX]) {
    return snprintf(ret, PATH_MAX, "%s/output%s", own.base, behind) < PATH_MAX;
}

/* Leaves the descriptor -1 if there is no base directory or anything is in the way. The folder may
 * belong to the programs' user, so a link in place of the file is not followed, and O_NONBLOCK
 * keeps a FIFO there from blocking. */
static void open_file(void) {
    char folder[PATH_MAX];
    char path[PATH_MAX];
    struct stat st;
    if (!find("", folder) || !find(name, path) || access(own.base, F_OK) != 0 ||
        file_make_dirs(folder, NULL) != 0)
        return;
    cleanup_fd int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return;
    own.fd = take_fd(&fd);
    own.fresh = true;
}

/* Returns true if the file is being removed: a process that leaves (output_lock_leave) locks the
 * second byte exclusively and then unlinks the file. The next process creates a new one. */
static bool is_going(void) {
    struct stat st;
    if (!lock(F_RDLCK, THERE))
        return errno == EAGAIN || errno == EACCES;
    return fstat(own.fd, &st) == 0 && st.st_nlink == 0;
}

/* Opens the file and takes the shared lock. A file that is just being removed is opened again;
 * after three turns the last state counts. */
static void come(void) {
    open_file();
    for (int turn = 0; turn < 3 && own.fd >= 0 && is_going(); turn++) {
        (void)close(own.fd);
        own.fd = -1;
        own.fresh = false;
        open_file();
    }
}

/* Taking the lock after another owner held it means that this one is gone: its files are still
 * there, so the folder is inherited. A lock that fails though no process holds it is one that the
 * file system does not have. */
enum output_lock output_lock_take(bool anew) {
    bool has = own.state == OUTPUT_LOCK_OURS || own.state == OUTPUT_LOCK_INHERITED;
    if (own.fd < 0)
        come();
    if (own.fd < 0)
        return own.state = OUTPUT_LOCK_NONE;
    if (!has && (own.waits ? lock_soon(F_WRLCK, OWNER) : lock(F_WRLCK, OWNER)))
        own.state = own.state == OUTPUT_LOCK_ANOTHERS ? OUTPUT_LOCK_INHERITED : OUTPUT_LOCK_OURS;
    else if (!has)
        own.state = is_held(OWNER) ? OUTPUT_LOCK_ANOTHERS : OUTPUT_LOCK_NONE;
    if (anew && own.state == OUTPUT_LOCK_INHERITED)
        own.state = OUTPUT_LOCK_OURS;
    return own.state;
}

/* A folder of another process keeps the file. Without locks the file means nothing and is
 * removed in any case. */
void output_lock_leave(void) {
    char path[PATH_MAX];
    if (own.fd < 0 || own.state == OUTPUT_LOCK_ANOTHERS || !find(name, path))
        return;
    if (own.state == OUTPUT_LOCK_NONE || lock(F_WRLCK, THERE))
        (void)unlink(path);
}

bool output_lock_is_shared(void) {
    return own.fd >= 0 && is_held(THERE);
}

/* --- from the child to its parent ------------------------------------------------------------- */

/* Room for one descriptor, with the alignment that CMSG_FIRSTHDR() needs. */
union rights {
    char room[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
};

/* The descriptor is sent once, when this child has opened the file; a parent that has one already
 * keeps it. */
void output_lock_send(const char *text) {
    char state = (char)own.state;
    union rights control = {.room = {0}};
    struct iovec pieces[] = {{.iov_base = &state, .iov_len = 1},
                             {.iov_base = (char *)(uintptr_t)text, .iov_len = strlen(text)}};
    struct msghdr header = {.msg_iov = pieces, .msg_iovlen = 2};
    if (own.fresh) {
        header.msg_control = control.room;
        header.msg_controllen = sizeof(control.room);
        struct cmsghdr *c = CMSG_FIRSTHDR(&header);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &own.fd, sizeof(int));
    }
    (void)!sendmsg(SOCKET, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* A child that was killed has sent nothing, and the state stays. The packet also shows that the
 * child no longer needs to be waited for. */
void output_lock_receive(int from, char ret[OUTPUT_LOCK_TEXT_SIZE]) {
    char state = 0;
    union rights control = {.room = {0}};
    struct iovec pieces[] = {{.iov_base = &state, .iov_len = 1},
                             {.iov_base = ret, .iov_len = OUTPUT_LOCK_TEXT_SIZE - 1}};
    struct msghdr header = {.msg_iov = pieces,
                            .msg_iovlen = 2,
                            .msg_control = control.room,
                            .msg_controllen = sizeof(control.room)};
    ssize_t got = recvmsg(from, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    ret[got > 1 ? got - 1 : 0] = '\0';
    if (got < 1)
        return;
    own.state = (enum output_lock)state;
    own.waits = false;
    const struct cmsghdr *c = CMSG_FIRSTHDR(&header);
    if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(&own.fd, CMSG_DATA(c), sizeof(own.fd));
}
