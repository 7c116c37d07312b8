/* box SECONDS BYTES COMMAND...: runs it as a child of process 1 of fresh namespaces, on a file
 * system that can be written nowhere but in an empty /tmp and /run and a /dev of its own, with no
 * network but loopback. No process of it may use more than SECONDS of a processor and BYTES of
 * addresses, 0 for as many as it wants. It ends as the command did, or with 70. */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BROKEN = 70 };
static const rlim_t file_most = (rlim_t)2 << 30;

static void need(int result, const char *what) {
    if (result >= 0)
        return;
    (void)fprintf(stderr, "box: %s: %s\n", what, strerror(errno));
    _exit(BROKEN);
}

static int code_of(int status) {
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* A device that a mutant removes or replaces is the box's own. */
static void make_devices(void) {
    static const struct {
        const char *path;
        unsigned minor;
    } devices[] = {{"/dev/null", 3},
                   {"/dev/zero", 5},
                   {"/dev/full", 7},
                   {"/dev/random", 8},
                   {"/dev/urandom", 9}};
    need(mount("tmpfs", "/dev", "tmpfs", 0, "size=2g,mode=755"), "/dev");
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
        need(mknod(devices[i].path, S_IFCHR | 0666, makedev(1, devices[i].minor)), devices[i].path);
    need(mkdir("/dev/shm", 0777), "/dev/shm");
    need(symlink("/proc/self/fd", "/dev/fd"), "/dev/fd");
    need(mkdir("/dev/pts", 0755), "/dev/pts");
    need(mount("devpts", "/dev/pts", "devpts", 0, "newinstance,ptmxmode=666"), "/dev/pts");
    need(symlink("pts/ptmx", "/dev/ptmx"), "/dev/ptmx");
}

static void make_files(const char *self) {
    struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
    (void)umask(0);
    need(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private mounts");
    need(mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &read_only, sizeof(read_only)),
         "a file system that cannot be written");
    need(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL), "/proc");
    need(mount("tmpfs", "/tmp", "tmpfs", 0, "size=2g,mode=1777"), "/tmp");
    need(mount("tmpfs", "/run", "tmpfs", 0, "size=2g,mode=1777"), "/run");
    make_devices();
    (void)umask(022);
    errno = 0;
    if (access(self, W_OK) == 0 || errno != EROFS)
        need(-1, "the file system can still be written");
    need(chdir("/tmp"), "/tmp");
}

static void raise_loopback(void) {
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    need(fd, "a socket");
    need(ioctl(fd, SIOCSIFFLAGS, &request), "lo");
    (void)close(fd);
}

static void limit(int resource, rlim_t most) {
    const struct rlimit both = {most, most};
    need(setrlimit(resource, &both), "a limit");
}

static void limit_all(const char *seconds, const char *bytes) {
    rlim_t addresses = strtoull(bytes, NULL, 10);
    limit(RLIMIT_CPU, strtoull(seconds, NULL, 10));
    limit(RLIMIT_AS, addresses != 0 ? addresses : RLIM_INFINITY);
    limit(RLIMIT_FSIZE, file_most);
    limit(RLIMIT_CORE, 0);
}

/* Process 1 ignores signals that it has no handler for, so the command is a child of it. With
 * process 1 goes whatever else runs in the box. */
static int be_first(char **argv) {
    need(prctl(PR_SET_PDEATHSIG, SIGKILL), "prctl");
    make_files(argv[0]);
    raise_loopback();
    pid_t command = fork();
    need(command, "fork");
    if (command == 0) {
        limit_all(argv[1], argv[2]);
        (void)execvp(argv[3], argv + 3);
        need(-1, argv[3]);
    }
    for (;;) {
        int status = 0;
        pid_t ended = wait(&status);
        if (ended == command)
            return code_of(status);
        if (ended < 0 && errno != EINTR)
            return BROKEN;
    }
}

int main(int argc, char **argv) {
    int status = 0;
    if (argc < 4)
        return BROKEN;
    /* The parent may be ended by any signal: the box ends with it. */
    need(prctl(PR_SET_PDEATHSIG, SIGKILL), "prctl");
    need(unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS),
         "namespaces, which take root");
    pid_t first = fork();
    need(first, "fork");
    if (first == 0)
        _exit(be_first(argv));
    while (waitpid(first, &status, 0) < 0)
        if (errno != EINTR)
            return BROKEN;
    return code_of(status);
}
