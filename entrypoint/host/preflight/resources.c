#include "entrypoint/host/preflight/resources.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "common/str.h"
#include "entrypoint/job/machine/accelerators.h"
#include "entrypoint/mpi/shm_transport.h"

#include <dirent.h>
#include <limits.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Values are read from /proc and /sys rather than by libraries, which an image may lack. A file
 * that is missing is no error: its value is the empty text or -1.
 *
 * ROOT is "" except in tests, which put a folder with files of their own there. Calls of the kernel
 * (limits, MTU, kernel name) have no such prefix. */

/* Bytes of a kernel file that are read at most, of one value, and GPUs that are looked at.
 * /proc/cpuinfo has about a kilobyte for each processor. */
enum {
    FILE_TEXT_MAX = 4 * 1024 * 1024,
    VALUE_SIZE = 128,
    GPUS_MAX = 64,
    MIB = 1024 * 1024,
    KIB = 1024
};

/* A path that does not fit is cut, and then leads to nothing. */
static void path_of(const char *root, const char *path, char ret[PATH_MAX]) {
    (void)snprintf(ret, PATH_MAX, "%s%s", root, path);
}

/* The value after KEY and a colon in the first line that begins with KEY; "" if there is none.
 * Blanks and tabs around the colon are skipped. Longer values are cut. */
static void read_value(const char *path, const char *key, char ret[VALUE_SIZE]) {
    cleanup_buf struct buf text;
    buf_init(&text, FILE_TEXT_MAX);
    ret[0] = '\0';
    if (file_read(path, &text, NULL) != 0)
        return;
    for (const char *at = buf_text(&text); *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n')
        if (str_starts_with(at, key)) {
            const char *value = at + strlen(key);
            value += strspn(value, " \t:");
            (void)snprintf(ret, VALUE_SIZE, "%.*s", (int)strcspn(value, "\n"), value);
            return;
        }
}

/* Returns the number in the first line, -1 if there is none: "max" in a control group means no
 * limit. */
static int64_t read_number(const char *root, const char *path) {
    char file[PATH_MAX];
    cleanup_buf struct buf text;
    int64_t value = 0;
    path_of(root, path, file);
    buf_init(&text, FILE_TEXT_MAX);
    if (file_read(file, &text, NULL) != 0)
        return -1;
    char *end = text.data != NULL ? strchr(text.data, '\n') : NULL;
    if (end != NULL)
        *end = '\0';
    return str_parse_int(buf_text(&text), 0, INT64_MAX, &value, NULL) == 0 ? value : -1;
}

/* A current value that is unknown (-1) counts as none used. Returns 0 if the limit is reached, or
 * has been lowered below the current value. */
static int64_t limit_left(int64_t most, int64_t now) {
    return most > now ? most - (now > 0 ? now : 0) : 0;
}

/* Returns 0 for a folder that cannot be read, as that of a process that has just ended. */
static int64_t count_names(const char *folder) {
    int64_t count = 0;
    DIR *names = opendir(folder);
    for (const struct dirent *e = names != NULL ? readdir(names) : NULL; e != NULL;
         e = readdir(names))
        count += e->d_name[0] != '.';
    if (names != NULL)
        (void)closedir(names);
    return count;
}

/* The number of threads of USER that are visible here; those in other containers are not. The limit
 * of processes counts threads. The owner of a task folder is the effective user of its process. */
static int64_t count_threads(const char *root, uid_t user) {
    char folder[PATH_MAX];
    char path[PATH_MAX];
    int64_t count = 0;
    path_of(root, "/proc", folder);
    DIR *processes = opendir(folder);
    for (const struct dirent *e = processes != NULL ? readdir(processes) : NULL; e != NULL;
         e = readdir(processes)) {
        struct stat st;
        int size = snprintf(path, sizeof(path), "%s/%s/task", folder, e->d_name);
        bool fits = size > 0 && (size_t)size < sizeof(path);
        /* Names that begin with a digit are processes. */
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && fits && stat(path, &st) == 0 &&
            st.st_uid == user)
            count += count_names(path);
    }
    if (processes != NULL)
        (void)closedir(processes);
    return count;
}

/* How many more processes may be started: the minimum over control groups (v2, v1) and the user's
 * limit, from which root is exempt. -1: no limit is known. Of both kinds of control group only the
 * one that is mounted has files. */
static int64_t pids_left(const char *root) {
    static const char *const groups[][2] = {
        {"/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids.current"},
        {"/sys/fs/cgroup/pids/pids.max", "/sys/fs/cgroup/pids/pids.current"}};
    struct rlimit own;
    int64_t least = -1;
    if (geteuid() != 0 && getrlimit(RLIMIT_NPROC, &own) == 0 && own.rlim_cur != RLIM_INFINITY)
        least = limit_left((int64_t)own.rlim_cur, count_threads(root, geteuid()));
    for (size_t i = 0; i < 2; i++) {
        int64_t most = read_number(root, groups[i][0]);
        int64_t now = read_number(root, groups[i][1]);
        int64_t left = limit_left(most, now);
        if (most >= 0 && (least < 0 || left < least))
            least = left;
    }
    return least;
}

/* In KiB; -1: no limit. Programs inherit the limit that the supervisor has raised
 * (host/fd_budget.c). */
static int64_t memlock(void) {
    struct rlimit locked;
    if (getrlimit(RLIMIT_MEMLOCK, &locked) != 0 || locked.rlim_cur == RLIM_INFINITY)
        return -1;
    return (int64_t)(locked.rlim_cur / KIB);
}

/* In MiB, -1 if FOLDER is not there. A file system without a limit has a very large number. */
static int64_t free_mib(const char *folder) {
    int64_t room = shm_transport_room(folder);
    return room < 0 ? -1 : room / MIB;
}

/* Asks the kernel, because /sys may show another network namespace. -1 without an interface, or
 * where the kernel does not know it. Any socket will do for the question. */
static int64_t read_mtu(const char *interface) {
    struct ifreq request = {0};
    cleanup_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    (void)snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", interface);
    return fd >= 0 && ioctl(fd, SIOCGIFMTU, &request) == 0 ? request.ifr_mtu : -1;
}

/* The version is the first word after two blanks: the text before it differs between kinds of the
 * module. */
static void read_driver(const char *root, char ret[VALUE_SIZE]) {
    char file[PATH_MAX];
    char line[VALUE_SIZE];
    path_of(root, "/proc/driver/nvidia/version", file);
    read_value(file, "NVRM version", line);
    /* "NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar ..." */
    const char *number = strstr(line, "  ");
    number += number != NULL ? strspn(number, " ") : 0;
    (void)snprintf(ret, VALUE_SIZE, "%.*s", number != NULL ? (int)strcspn(number, " ") : 0,
                   number != NULL ? number : "");
}

/* Returns true if the GPU has a device file here. The driver also lists GPUs of other containers.
 * Without a minor number in the file, the GPU counts as one of this container. */
static bool is_ours(const char *root, const char *information) {
    char path[PATH_MAX];
    char minor[VALUE_SIZE];
    read_value(information, "Device Minor", minor);
    int size = snprintf(path, sizeof(path), "%s/dev/nvidia%.16s", root, minor);
    return minor[0] == '\0' || (size > 0 && (size_t)size < sizeof(path) && access(path, F_OK) == 0);
}

/* Compares two models, for qsort(). */
static int by_name(const void *a, const void *b) {
    return strcmp(a, b);
}

/* Joins the models, each once, in the same order on every host: "NVIDIA A10G, NVIDIA L4". MODELS is
 * sorted in place. */
static void join_models(char (*models)[VALUE_SIZE], size_t count, char *ret, size_t size) {
    ret[0] = '\0';
    qsort(models, count, sizeof(*models), by_name);
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(ret);
        if (i == 0 || strcmp(models[i], models[i - 1]) != 0)
            (void)snprintf(ret + used, size - used, "%s%.*s", used > 0 ? ", " : "", VALUE_SIZE - 1,
                           models[i]);
    }
}

/* Reads the models from the driver's files, because its library may be missing. "" if there is no
 * driver; GPUs beyond GPUS_MAX are left out. */
static void read_models(const char *root, char *ret, size_t size) {
    char folder[PATH_MAX];
    char file[PATH_MAX];
    char models[GPUS_MAX][VALUE_SIZE];
    size_t count = 0;
    ret[0] = '\0';
    path_of(root, "/proc/driver/nvidia/gpus", folder);
    DIR *gpus = opendir(folder);
    /* No driver, or one that this container does not see. */
    if (gpus == NULL)
        return;
    for (const struct dirent *e = readdir(gpus); e != NULL && count < GPUS_MAX; e = readdir(gpus)) {
        int length = snprintf(file, sizeof(file), "%s/%s/information", folder, e->d_name);
        if (e->d_name[0] == '.' || length < 0 || (size_t)length >= sizeof(file) ||
            !is_ours(root, file))
            continue;
        read_value(file, "Model", models[count]);
        count += models[count][0] != '\0';
    }
    (void)closedir(gpus);
    join_models(models, count, ret, size);
}

/* Sets KEY to TEXT; bytes that are not UTF-8 in a kernel file are ignored, as they are no name. */
static void set_text(json_t *object, const char *key, const char *text) {
    json_t *value = json_string(text);
    (void)json_object_set_new(object, key, value != NULL ? value : json_string(""));
}

/* JSON has 64-bit integers here, so no value is rounded. */
static void set_number(json_t *object, const char *key, int64_t value) {
    (void)json_object_set_new(object, key, json_integer(value));
}

/* `gpus` counts device files; `gpu` names the models, if the driver's files are visible here. */
static void add_devices(json_t *object, const char *root) {
    char path[PATH_MAX];
    char models[2 * VALUE_SIZE];
    char driver[VALUE_SIZE];
    read_models(root, models, sizeof(models));
    read_driver(root, driver);
    set_text(object, "gpu", models);
    set_text(object, "driver", driver);
    path_of(root, "/dev", path);
    set_number(object, "gpus", accelerators_gpus(path));
    (void)json_object_set_new(object, "rdma", json_boolean(accelerators_infiniband(root)));
    (void)json_object_set_new(object, "efa", json_boolean(accelerators_efa(root)));
}

/* `read_memory` says why ranks cannot read each other's memory, "" if they can: this process runs
 * as their user, so it may try. */
static void add_limits(json_t *object, const char *root, const char *base, const char *interface) {
    char path[PATH_MAX];
    int reads = shm_transport_may_read();
    set_text(object, "read_memory", reads != 0 ? strerror(reads) : "");
    set_number(object, "memlock_kib", memlock());
    set_number(object, "pids", pids_left(root));
    path_of(root, "/dev/shm", path);
    set_number(object, "shm_free_mib", free_mib(path));
    /* The job's folder may not be there yet. */
    set_number(object, "disk_free_mib", free_mib(base));
    set_number(object, "mtu", read_mtu(interface));
}

/* Blocks while a file is read; the caller has a deadline. */
json_t *resources_gather(const char *root, const char *base, const char *interface) {
    /* A failure of uname() leaves both names empty. */
    struct utsname kernel = {0};
    char path[PATH_MAX];
    char processor[VALUE_SIZE];
    json_t *object = json_object();
    (void)uname(&kernel);
    path_of(root, "/proc/cpuinfo", path);
    read_value(path, "model name", processor);
    set_text(object, "kernel", kernel.release);
    /* Open MPI takes a host with the name of the master's kernel for the master (mpi/addresses.h).
     */
    set_text(object, "kernel_name", kernel.nodename);
    set_text(object, "processor", processor);
    set_text(object, "interface", interface);
    add_devices(object, root);
    add_limits(object, root, base, interface);
    return object;
}
