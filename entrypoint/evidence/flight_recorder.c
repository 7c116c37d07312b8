#include "entrypoint/evidence/flight_recorder.h"

#include "common/cleanup.h"
#include "common/clock.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COPY_SIZE = 64 * 1024, EVENTS_SIZE = 16 * 1024 };

/* Newer and older names of the same. */
static const char *const sizes[] = {"TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE"};
static const char *const files[] = {"TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"};
static const char fifo_name[] = "TORCH_NCCL_DEBUG_INFO_PIPE_FILE";

static const char *find(char *const *environment, const char *const names[2]) {
    const char *value = env_get(environment, names[0]);
    return value != NULL ? value : env_get(environment, names[1]);
}

static void choose(const char *own, const char *folder, const char *name,
                   char ret[GATHER_ORDER_PATH_SIZE]) {
    int size = own != NULL ? snprintf(ret, GATHER_ORDER_PATH_SIZE, "%s", own)
                           : snprintf(ret, GATHER_ORDER_PATH_SIZE, "%s/%s", folder, name);
    if (size < 0 || size >= GATHER_ORDER_PATH_SIZE)
        ret[0] = '\0';
}

void flight_recorder_find(char *const *environment, const char *folder, bool has_gpus,
                          struct flight_recorder *ret) {
    const char *file = find(environment, files);
    const char *fifo = env_get(environment, fifo_name);
    const char *size = find(environment, sizes);
    *ret = (struct flight_recorder){0};
    if ((!has_gpus && fifo == NULL) || (size != NULL && strcmp(size, "0") == 0))
        return;
    choose(file, folder, "nccl_trace_rank_", ret->file);
    choose(fifo, folder, "nccl_dump_", ret->fifo);
}

static int add_default(struct argv *environment, const char *name, const char *value,
                       struct error *err) {
    return argv_get_env(environment, name) != NULL ? 0
                                                   : argv_set_env(environment, name, value, err);
}

int flight_recorder_add(const struct flight_recorder *r, struct argv *environment,
                        struct error *err) {
    if (r->fifo[0] == '\0')
        return 0;
    for (size_t i = 0; i < 2; i++)
        if (add_default(environment, sizes[i], "2000", err) != 0 ||
            add_default(environment, files[i], r->file, err) != 0)
            return -1;
    if (add_default(environment, "TORCH_NCCL_DUMP_ON_TIMEOUT", "1", err) != 0)
        return -1;
    return add_default(environment, fifo_name, r->fifo, err);
}

/* Returns true if the process group reads from the FIFO. */
static bool ask(const char *path) {
    struct stat st;
    cleanup_fd int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) && write(fd, "1", 1) == 1;
}

/* Waits until NAME in the folder that WATCH sees was written and closed. */
static void await(int watch, const char *name, int64_t deadline) {
    static char bytes[EVENTS_SIZE] __attribute__((aligned(__alignof__(struct inotify_event))));
    struct pollfd p = {.fd = watch, .events = POLLIN};
    while (poll(&p, 1, clock_left_ms(deadline)) > 0) {
        ssize_t size = read(watch, bytes, sizeof(bytes));
        for (ssize_t at = 0; at + (ssize_t)sizeof(struct inotify_event) <= size;) {
            const struct inotify_event *e =
                (const struct inotify_event *)(const void *)(bytes + at);
            if (e->len > 0 && strcmp(e->name, name) == 0)
                return;
            at += (ssize_t)(sizeof(*e) + e->len);
        }
        if (size <= 0)
            return;
    }
}

static int print(const char *path) {
    static char bytes[COPY_SIZE];
    struct stat st;
    cleanup_fd int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    ssize_t got = 0;
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return 1;
    while ((got = read(fd, bytes, sizeof(bytes))) > 0)
        (void)fwrite(bytes, 1, (size_t)got, stdout);
    return 0;
}

int flight_recorder_print(const char *file, const char *fifo, unsigned rank, int64_t deadline) {
    char path[PATH_MAX];
    char folder[PATH_MAX];
    char pipe[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s%u", file, rank);
    (void)snprintf(pipe, sizeof(pipe), "%s%u.pipe", fifo, rank);
    (void)snprintf(folder, sizeof(folder), "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash == NULL)
        return 1;
    *slash = '\0';
    cleanup_fd int watch = inotify_init1(IN_CLOEXEC);
    if (watch >= 0 && inotify_add_watch(watch, folder, IN_CLOSE_WRITE | IN_MOVED_TO) >= 0 &&
        ask(pipe))
        await(watch, slash + 1, deadline);
    return print(path);
}
