#include "entrypoint/mpi/shm_transport.h"

#include "common/cleanup.h"
#include "common/file/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Two questions are answered in each shim, once mpirun has started it. Is there room for the files
 * in which ranks exchange small messages? May one rank read another's memory, for large ones? Both
 * are tried rather than derived from settings: a container may lack the right (seccomp, Yama), or
 * have a small /dev/shm, in many ways.
 *
 * The answers become variables of the rank, OMPI_MCA_..., unless the user has set the same ones. */

/* Shared memory of one rank in either series, with a little for the folder. */
static const int64_t room_a_rank = 4 * 1024 * 1024 + 64 * 1024;
enum { MIB = 1024 * 1024, READY_MS = 1000, READY = 3 };

/* By series: 4.1, then 5.0. Only 5.0 sets a variable that tells that it launched the rank. */
static const char *const backing[] = {"OMPI_MCA_btl_vader_backing_directory",
                                      "OMPI_MCA_btl_sm_backing_directory"};
static const char transports[] = "OMPI_MCA_btl";

static bool is_5_0(char *const *launched) {
    return env_get(launched, "PRTE_LAUNCHED") != NULL;
}

/* --- facts ----------------------------------------------------------------------------------- */

/* Runs in a child that opens itself as Open MPI's ranks do. The shim may not be readable itself,
 * and its secrets may not be reachable through the child, so the child first closes all but the
 * pipe. */
static _Noreturn void be_read(int ready) {
    (void)dup2(ready, READY);
    for (int fd = 0; fd < READY; fd++)
        (void)close(fd);
    descriptors_close(READY + 1);
    char byte = prctl(PR_SET_DUMPABLE, 1) == 0 ? 'r' : 'x';
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* fails harmlessly on kernels without Yama */
    (void)!write(READY, &byte, 1);
    for (;;)
        (void)pause();
}

/* Returns false if the child could not be made readable, or has not answered in time. */
static bool is_ready(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char byte = '\0';
    return poll(&p, 1, READY_MS) == 1 && read(fd, &byte, 1) == 1 && byte == 'r';
}

/* Reads and writes one byte at AT, which is at the same address in the child: a fork copies the
 * address space. 0 or an errno. */
static int read_child(pid_t pid, const char *at) {
    char got = '\0';
    struct iovec local = {.iov_base = &got, .iov_len = 1};
    struct iovec remote = {.iov_base = (void *)(uintptr_t)at, .iov_len = 1};
    errno = EFAULT;
    if (process_vm_readv(pid, &local, 1, &remote, 1, 0) != 1 || got != *at)
        return errno;
    return process_vm_writev(pid, &local, 1, &remote, 1, 0) == 1 ? 0 : errno;
}

/* Forks a child, tries, and waits for its end, all within READY_MS and a moment. */
int shm_transport_may_read(void) {
    static char target;
    int ends[2];
    target = 'm';
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    cleanup_fd int in = ends[0];
    cleanup_fd int out = ends[1];
    pid_t pid = fork();
    if (pid < 0)
        return errno;
    if (pid == 0)
        be_read(out);
    (void)close(take_fd(&out));
    int result = is_ready(in) ? read_child(pid, &target) : ETIMEDOUT;
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return result;
}

/* What a process without privileges may still use, not all that is free. */
int64_t shm_transport_room(const char *folder) {
    struct statvfs room;
    if (statvfs(folder, &room) != 0)
        return -1;
    if (room.f_blocks == 0)
        return INT64_MAX; /* a tmpfs without a size limit */
    uint64_t bytes = (uint64_t)room.f_bavail * room.f_frsize;
    return bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX;
}

/* Without the variable in LAUNCHED the files would lie in TMPDIR, too, and then there is no other
 * place. */
void shm_transport_look(char *const *launched, struct shm_transport_facts *ret) {
    const char *temporary = env_get(launched, "TMPDIR");
    const char *shared = env_get(launched, backing[is_5_0(launched)]);
    *ret = (struct shm_transport_facts){.read_errno = shm_transport_may_read()};
    ret->other = temporary != NULL ? temporary : "/tmp";
    ret->shared = shared != NULL ? shared : ret->other;
    ret->shared_room = shm_transport_room(ret->shared);
    ret->other_room = shm_transport_room(ret->other);
}

/* --- choices --------------------------------------------------------------------------------- */

/* True for a variable that the user's options set: it stays as it is. */
static bool has(const struct argv *environment, const char *name) {
    return argv_get_env(environment, name) != NULL;
}

/* The place to name in a message: users know the file system of an attempt's folder, not the
 * folder. */
static const char *place_of(const char *shared) {
    return strncmp(shared, "/dev/shm/", strlen("/dev/shm/")) == 0 ? "/dev/shm" : shared;
}

/* If the usual folder is too small, the files move to the other one. If that is too small as well,
 * ranks talk by TCP: slow, but a full folder would end them. */
static int choose_place(const struct shm_transport_facts *f, unsigned ranks, const char *variable,
                        struct argv *environment, struct shm_transport_choice *ret,
                        struct error *err) {
    int64_t needed = (int64_t)ranks * room_a_rank;
    if (f->shared_room >= needed || has(environment, variable) || has(environment, transports))
        return 0;
    /* The hint in the text asks for twice the need. */
    bool moves = f->other_room >= needed && strcmp(f->other, f->shared) != 0;
    ret->worse = true;
    (void)snprintf(ret->said, sizeof(ret->said),
                   "%.100s has %lld MiB left, and %u ranks share %lld: %s%.200s (docker run "
                   "--shm-size=%lldm)",
                   place_of(f->shared), (long long)(f->shared_room < 0 ? 0 : f->shared_room) / MIB,
                   ranks, (long long)(needed + MIB - 1) / MIB,
                   moves ? "what they share lies in " : "they talk to each other by TCP alone",
                   moves ? f->other : "", (long long)(2 * needed + MIB - 1) / MIB);
    return moves ? argv_set_env(environment, variable, f->other, err)
                 : argv_set_env(environment, transports, "tcp,self", err);
}

/* Appends a clause to what is said; NUMBER is an errno, or 0. */
static void say(struct shm_transport_choice *c, const char *text, int number) {
    size_t size = strlen(c->said);
    (void)snprintf(c->said + size, sizeof(c->said) - size, "%s%s%s%s%s", size > 0 ? "; " : "", text,
                   number != 0 ? " (" : "", number != 0 ? strerror(number) : "",
                   number != 0 ? ")" : "");
}

/* Open MPI 4.1 needs a parameter to copy once, because mpirun's command line turns it off; 5.0 does
 * so by default. */
static int choose_copy(const struct shm_transport_facts *f, bool is_5, struct argv *environment,
                       struct shm_transport_choice *ret, struct error *err) {
    static const char mechanism[] = "OMPI_MCA_btl_vader_single_copy_mechanism";
    static const char component[] = "OMPI_MCA_smsc";
    if (has(environment, is_5 ? component : mechanism) || has(environment, transports))
        return 0;
    if (f->read_errno == 0)
        say(ret, "ranks here read each other's memory: large messages are copied once", 0);
    else
        say(ret, "ranks here may not read each other's memory: messages are copied twice",
            f->read_errno);
    if (!is_5)
        return argv_set_env(environment, mechanism, f->read_errno == 0 ? "cma" : "none", err);
    return f->read_errno == 0 ? 0 : argv_set_env(environment, component, "^cma", err);
}

int shm_transport_add(const struct shm_transport_facts *facts, unsigned ranks,
                      char *const *launched, struct argv *environment,
                      struct shm_transport_choice *ret, struct error *err) {
    bool is_5 = is_5_0(launched);
    *ret = (struct shm_transport_choice){0};
    if (ranks <= 1)
        return 0;
    if (choose_place(facts, ranks, backing[is_5], environment, ret, err) != 0)
        return -1;
    return choose_copy(facts, is_5, environment, ret, err);
}
