/* A namespace host: its keeper, its mounts and its first process (tests/system/hosts_ns.sh).
 *
 *     host run FOLDER NETWORK GROUP NAME COMMAND ARGS...
 *     host become [NAME=VALUE]... COMMAND ARGS...
 *
 * `run` starts the command as PID 1 of a host and waits for its end. It records FOLDER/pid, then
 * FOLDER/ended (ms since 1970) and FOLDER/code. NETWORK is the file of its network namespace, GROUP
 * the name of its control group. With a script in FOLDER/prepare, a shell runs that as root and
 * then `become`, which gives up all rights (with UNPRIVILEGED set) and executes the command with
 * these variables alone; of two with one name, the last counts.
 *
 * /opt, /tmp, /run and /var/tmp become the host's own folders below FOLDER/root, /dev/shm a memory
 * file system, /etc/hosts and /etc/resolv.conf those of the ring. Everything else is the machine's.
 * The repository stays where it is, but is read-only, so that a faulty host cannot change it; hosts
 * can only write to the ring's share in it. One program does all this, as tests start thousands of
 * hosts, and a shell that mounts starts a process for each of twenty mounts. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <linux/capability.h>
#include <mntent.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BROKEN = 70, USER = 4321, PATH_ROOM = 4096, WORDS_ROOM = 4096 };

static void need(int result, const char *what) {
    if (result >= 0)
        return;
    (void)fprintf(stderr, "host: %s: %s\n", what, strerror(errno));
    _exit(BROKEN);
}

/* Returns the parts as one path, in memory of its own. */
static char *joined(const char *first, const char *second, const char *third) {
    char *path = NULL;
    need(asprintf(&path, "%s%s%s", first, second, third), "memory");
    return path;
}

/* --- mounts ---------------------------------------------------------------------------------- */

/* Folders of which each host has its own. */
static const char *const OWN[] = {"opt", "tmp", "run", "var/tmp"};
enum { OWN_COUNT = sizeof(OWN) / sizeof(OWN[0]) };

static void bind_over(const char *from, const char *over, unsigned long more) {
    need(mount(from, over, NULL, MS_BIND | more, NULL), over);
}

/* The other flags of the mount stay as they are. */
static void make_read_only(const char *place) {
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
    need(mount_setattr(AT_FDCWD, place, 0, &attr, sizeof(attr)), place);
}

static bool may_enter(const char *folder) {
    struct stat status;
    return stat(folder, &status) == 0 && (status.st_mode & S_IXOTH) != 0;
}

/* Returns which folder, without its first slash, hides the repository at TOP from the host's
 * program: one that will be mounted over, or the first that users without a name may not enter;
 * NULL if none does. */
static const char *hiding_folder(const char *top) {
    static char way[PATH_ROOM];
    for (size_t i = 0; i < OWN_COUNT; i++) {
        const size_t length = strlen(OWN[i]);
        if (strncmp(top + 1, OWN[i], length) == 0 && top[1 + length] == '/')
            return OWN[i];
    }
    for (const char *slash = strchr(top + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        (void)snprintf(way, sizeof(way), "%.*s", (int)(slash - top), top);
        if (!may_enter(way))
            return way + 1;
    }
    return NULL;
}

/* Makes the folder at PATH and all above it. */
static void make_folders(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0777);
        *slash = '/';
    }
    need(mkdir(path, 0777) == 0 || errno == EEXIST ? 0 : -1, path);
}

static void make_mounts(const char *folder, const char *top) {
    need(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private mounts");
    /* A hidden repository is mounted in the host's own folder first, at its old path, and the
     * folder that hides it comes last. */
    const char *last = hiding_folder(top);
    if (last != NULL) {
        char *inside = joined(folder, "/root", top);
        make_folders(inside);
        bind_over(top, inside, 0);
        free(inside);
    }
    /* The hosts file is the whole ring's and grows as hosts start, as a name service would. */
    bind_over(joined(folder, "/../hosts", ""), "/etc/hosts", 0);
    bind_over(joined(folder, "/../resolv.conf", ""), "/etc/resolv.conf", 0);
    for (size_t i = 0; i < OWN_COUNT; i++)
        if (last == NULL || strcmp(OWN[i], last) != 0)
            bind_over(joined(folder, "/root/", OWN[i]), joined("/", OWN[i], ""), 0);
    if (last != NULL)
        bind_over(joined(folder, "/root/", last), joined("/", last, ""), MS_REC);
    /* The share becomes a mount of its own first, so that it stays writable. */
    char *share = joined(folder, "/../share", "");
    bind_over(share, share, 0);
    bind_over(top, top, MS_REC);
    make_read_only(top);
    need(mount("shm", "/dev/shm", "tmpfs", 0, "size=64m,mode=1777"), "/dev/shm");
    need(mount("proc", "/proc", "proc", 0, NULL), "/proc");
}

/* --- the first process ----------------------------------------------------------------------- */

/* Read-only files keep their owner; any other failure ends the walk. */
static int give_away(const char *path, const struct stat *status, int kind, struct FTW *where) {
    (void)status, (void)kind, (void)where;
    return lchown(path, USER, USER) != 0 && errno != EROFS && errno != EPERM;
}

/* A careful operator runs containers like this: as a user without a name, without capabilities or a
 * way to gain any, and with write access only to the job's folder, /tmp, /dev/shm and the ring's
 * share. */
static void give_up_rights(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    (void)nftw("/opt/ml", give_away, 16, FTW_PHYS);
    make_read_only("/");
    make_read_only("/run");
    need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges");
    for (unsigned long cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
        continue;
    need(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "ambient capabilities");
    need(setgroups(0, NULL), "groups");
    need(setresgid(USER, USER, USER), "group");
    need(setresuid(USER, USER, USER), "user");
    /* Root's permitted set went with the user; what could be inherited goes here. */
    need((int)syscall(SYS_capget, &header, sets), "capabilities");
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
        sets[i].inheritable = 0;
    need((int)syscall(SYS_capset, &header, sets), "capabilities");
}

static int become(char **words) {
    if (getenv("UNPRIVILEGED") != NULL && *getenv("UNPRIVILEGED") != '\0')
        give_up_rights();
    need(clearenv() == 0 ? 0 : -1, "environment");
    for (; *words != NULL && strchr(*words, '=') != NULL; words++)
        need(putenv(*words), *words);
    /* A shell's background job ignores these two; a container's first process does not. */
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGQUIT, SIG_DFL);
    if (*words == NULL)
        return BROKEN;
    (void)execvp(*words, words);
    int code = errno == ENOENT ? 127 : 126;
    (void)fprintf(stderr, "host: %s: %s\n", *words, strerror(errno));
    return code;
}

/* Puts the host's variables and then its command into WORDS: this program's own of the sanitizers
 * and of OpenMP, then the lines of FOLDER/environment, of which the first with a name counts and
 * thus comes last. */
static void make_words(const char *folder, char **command, char *words[WORDS_ROOM]) {
    static const char *const PASSED[] = {"ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS",
                                         "TSAN_OPTIONS", "OMP_WAIT_POLICY"};
    char *lines[WORDS_ROOM / 2];
    size_t used = 0, count = 0, room = 0;
    char *line = NULL;
    FILE *file = fopen(joined(folder, "/environment", ""), "re");
    need(file != NULL ? 0 : -1, "environment");
    ssize_t length;
    while (count < WORDS_ROOM / 2 && (length = getline(&line, &room, file)) > 0) {
        if (line[length - 1] == '\n')
            line[length - 1] = '\0';
        lines[count++] = joined(line, "", "");
    }
    (void)fclose(file);
    free(line);
    for (size_t i = 0; i < sizeof(PASSED) / sizeof(PASSED[0]); i++)
        if (getenv(PASSED[i]) != NULL)
            words[used++] = joined(PASSED[i], "=", getenv(PASSED[i]));
    while (count > 0)
        words[used++] = lines[--count];
    while (*command != NULL && used < WORDS_ROOM - 1)
        words[used++] = *command++;
    words[used] = NULL;
}

static bool has_text(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && status.st_size > 0;
}

/* Becomes the host's command, in namespaces of its own. */
static int first_process(const char *folder, const char *network, const char *name,
                         char **command) {
    static char self[PATH_ROOM], top[PATH_ROOM];
    static char *words[WORDS_ROOM + 8];
    int net = open(network, O_RDONLY | O_CLOEXEC);
    need(net, network);
    need(setns(net, CLONE_NEWNET), network);
    need((int)readlink("/proc/self/exe", self, sizeof(self) - 1), "/proc/self/exe");
    need(realpath(joined(folder, "/../../../..", ""), top) != NULL ? 0 : -1, folder);
    make_mounts(folder, top);
    need(sethostname(name, strlen(name)), name);
    need(chdir("/"), "/");
    char *script = joined(folder, "/prepare", "");
    char **rest = words + 4;
    make_words(folder, command, rest);
    if (!has_text(script))
        return become(rest);
    static char bash[] = "bash";
    char *head[] = {bash, joined(top, "/tests/system/host_prepare.sh", ""), script, self};
    memcpy(words, head, sizeof(head));
    (void)execvp("bash", words);
    need(-1, "bash");
    return BROKEN;
}

/* --- the keeper ------------------------------------------------------------------------------ */

/* Joins the control group of that name in the hierarchy of version 2, where there is one. */
static void join_group(const char *name) {
    FILE *mounts = setmntent("/proc/mounts", "re");
    struct mntent *entry;
    while (mounts != NULL && (entry = getmntent(mounts)) != NULL) {
        if (strcmp(entry->mnt_type, "cgroup2") != 0)
            continue;
        char *group = joined(entry->mnt_dir, "/", name);
        char *procs = joined(group, "/cgroup.procs", "");
        (void)mkdir(group, 0755);
        int fd = open(procs, O_WRONLY | O_CLOEXEC);
        if (fd >= 0) {
            (void)!write(fd, "0", 1);
            (void)close(fd);
        }
        free(group);
        free(procs);
        break;
    }
    if (mounts != NULL)
        (void)endmntent(mounts);
}

/* Writes NUMBER to FOLDER/NAME, which appears whole. */
static void record(const char *folder, const char *name, long long number) {
    char *path = joined(folder, "/", name), *part = joined(path, ".part", "");
    FILE *file = fopen(part, "we");
    need(file != NULL && fprintf(file, "%lld\n", number) > 0 && fclose(file) == 0 ? 0 : -1, part);
    need(rename(part, path), path);
    free(path);
    free(part);
}

static int run(const char *folder, const char *network, const char *group, const char *name,
               char **command) {
    /* SIGTERM waits until the host's first program takes it. A PID 1 loses signals that it neither
     * blocks nor handles. */
    sigset_t term, before;
    (void)sigemptyset(&term);
    (void)sigaddset(&term, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &term, &before);
    const unsigned long spaces = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC;
    long child = syscall(SYS_clone, spaces | SIGCHLD, NULL, NULL, NULL, NULL);
    need((int)child, "namespaces");
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        join_group(group);
        _exit(first_process(folder, network, name, command));
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    record(folder, "pid", child);
    int status = 0;
    need(waitpid((pid_t)child, &status, 0), "the host");
    struct timespec now; /* taken before the disk is used, which may be slow */
    (void)clock_gettime(CLOCK_REALTIME, &now);
    record(folder, "ended", now.tv_sec * 1000LL + now.tv_nsec / 1000000);
    record(folder, "code", WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 6 && strcmp(argv[1], "run") == 0)
        return run(argv[2], argv[3], argv[4], argv[5], argv + 6);
    if (argc > 2 && strcmp(argv[1], "become") == 0)
        return become(argv + 2);
    (void)fputs("usage: host run FOLDER NETWORK GROUP NAME COMMAND ARGS...\n"
                "       host become [NAME=VALUE]... COMMAND ARGS...\n",
                stderr);
    return 64;
}
