/* Real jobs for tests: a supervisor in a process of its own, with its shims and agents (the test
 * program itself, started anew), its own base folder and output, on this machine's loopback.
 *
 *     struct stage_host h;
 *     stage_start(&h, "alone", NULL, (const char *[]){"--", "sh", "-c", "exit 3", NULL});
 *     CU_ASSERT_EQUAL(stage_end(&h), 3);
 *     STAGE_SUITE("room.file", UNIT(...)) */
#ifndef TESTS_UNIT_ENTRYPOINT_STAGE_H
#define TESTS_UNIT_ENTRYPOINT_STAGE_H

#include "common/buf.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/log/log.h"
#include "entrypoint/evidence/gather.h"
#include "entrypoint/host/observe/output_lock.h"
#include "entrypoint/host/preflight/preflight_child.h"
#include "entrypoint/host/ranks/rank.h"
#include "entrypoint/job/job.h"
#include "entrypoint/job/key.h"
#include "entrypoint/master/role_loop.h"
#include "entrypoint/mpi/agent.h"
#include "entrypoint/wire/control_socket.h"
#include "entrypoint/wire/tls.h"
#include "tests/support/ended.h"
#include "tests/support/ports.h"
#include "tests/support/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum {
    STAGE_PATH_SIZE = 512,
    STAGE_OUTPUT_MAX = 256 * 1024,
    STAGE_CHECK = 1,
    STAGE_PATIENCE_SECONDS = 90, /* until a test gives up; to promises lag.h holds */
    STAGE_LEFT_OPEN = 98,        /* what a host ends with that has not closed all that it opened */
};

struct stage_host {
    pid_t pid;
    char base[STAGE_PATH_SIZE];
    char output[STAGE_PATH_SIZE + 8];
    char text[STAGE_OUTPUT_MAX]; /* of stage_output and stage_failure */
};

/* What the next host's process does before it serves, NULL for nothing. */
static void (*stage_first)(void);
/* What it serves as, NULL for all of a host's lives. */
static int (*stage_life)(struct supervisor_options *options, int *ret_code, struct error *err);

/* In place of the library's, as others may fill the disk: a host waits for it a second and a half,
 * and what it makes of one that stalls is for observe/test_failure_writer.c. Weak, as each suite of
 * a program brings it. */
__attribute__((weak)) int fsync(int fd) {
    (void)fd;
    return 0;
}

static inline int stage_descriptors(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (; folder != NULL && readdir(folder) != NULL; count++)
        ;
    if (folder != NULL)
        (void)closedir(folder);
    return count;
}

static inline int stage_serve(char *const *environment, const char *const *words, bool check) {
    struct job job = {0};
    struct error err = {0};
    int code = -1;
    if (job_read(words, environment, &job, &err) != 0) {
        log_error("%s", err.text);
        job_done(&job);
        return err.code;
    }
    log_set_who(job.cluster.hosts[job.cluster.self].name.text);
    int before = stage_descriptors();
    struct supervisor_options options = {.job = &job, .environment = environment, .check = check};
    int result = (stage_life != NULL ? stage_life : role_loop_run)(&options, &code, &err);
    if (result != 0) {
        log_error("%s", err.text);
        code = err.code;
    }
    output_lock_end();
    if (stage_descriptors() != before) {
        log_error("%d descriptors were open, and %d are", before, stage_descriptors());
        code = STAGE_LEFT_OPEN;
    }
    job_done(&job);
    return code;
}

/* SETTINGS are NAME=VALUE, NULL at the end, or NULL; WORDS are those after `train`, NULL for a
 * `check`. */
static inline void stage_start(struct stage_host *h, const char *name, const char *const *settings,
                               const char *const *words) {
    static const char *const nothing[] = {"--", "true", NULL};
    char base[STAGE_PATH_SIZE + 32];
    char run[STAGE_PATH_SIZE + 32];
    struct argv environment = {0};
    (void)snprintf(h->base, sizeof(h->base), "%s/%s", unit_temp_dir(), name);
    (void)snprintf(h->output, sizeof(h->output), "%s.log", h->base);
    CU_ASSERT_EQUAL_FATAL(file_make_dirs(h->base, NULL), 0);
    (void)unlink(h->output); /* an earlier host's words are not this one's */
    (void)snprintf(base, sizeof(base), "SAGEMAKER_BASE_DIR=%s", h->base);
    (void)snprintf(run, sizeof(run), "RINGMASTER_RUN=%s", unit_temp_dir());
    (void)argv_add(&environment, base, NULL);
    (void)argv_add(&environment, run, NULL);
    (void)argv_add(&environment, "PATH=/usr/local/bin:/usr/bin:/bin", NULL);
    (void)argv_add(&environment, "RINGMASTER_KEY=0123456789abcdef", NULL);
    (void)snprintf(run, sizeof(run), "RINGMASTER_PORT=%u", ports_own());
    (void)argv_add(&environment, run, NULL);
    for (; settings != NULL && *settings != NULL; settings++) {
        char pair[STAGE_PATH_SIZE];
        (void)snprintf(pair, sizeof(pair), "%s", *settings);
        char *equals = strchr(pair, '=');
        *equals = '\0';
        (void)argv_set_env(&environment, pair, equals + 1, NULL);
    }
    h->pid = fork();
    if (h->pid == 0) {
        int fd = open(h->output, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
        (void)dup2(fd, 1);
        (void)dup2(fd, 2);
        if (stage_first != NULL)
            stage_first();
        int code = stage_serve(environment.items, words != NULL ? words : nothing, words == NULL);
        argv_done(&environment);
        exit(code); /* so that leaks are looked for */
    }
    argv_done(&environment);
}

static inline const char *stage_read(struct stage_host *h, const char *path) {
    struct buf text;
    buf_init(&text, sizeof(h->text) - 1);
    (void)file_read(path, &text, NULL);
    (void)snprintf(h->text, sizeof(h->text), "%s", buf_text(&text));
    buf_done(&text);
    return h->text;
}

static inline const char *stage_output(struct stage_host *h) {
    return stage_read(h, h->output);
}

static inline const char *stage_failure(struct stage_host *h) {
    char path[STAGE_PATH_SIZE + 32];
    (void)snprintf(path, sizeof(path), "%s/output/failure", h->base);
    return stage_read(h, path);
}

/* Looks when its output grows. */
static inline bool stage_wait_for(struct stage_host *h, const char *text) {
    const int64_t end = clock_now() + STAGE_PATIENCE_SECONDS * CLOCK_SECOND;
    struct pollfd growth = {.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), .events = POLLIN};
    char news[4096];
    CU_ASSERT(inotify_add_watch(growth.fd, unit_temp_dir(), IN_CREATE | IN_MODIFY) >= 0);
    bool said = strstr(stage_output(h), text) != NULL;
    while (!said && poll(&growth, 1, clock_left_ms(end)) == 1) {
        while (read(growth.fd, news, sizeof(news)) > 0)
            ;
        said = strstr(stage_output(h), text) != NULL;
    }
    (void)close(growth.fd);
    if (!said)
        printf("\n%s never said \"%s\":\n%s\n", h->base, text, stage_output(h));
    return said;
}

/* Its exit code, 128 + n for a signal; -1 when it had to be killed. */
static inline int stage_end(struct stage_host *h) {
    int status = 0;
    bool gone = ended_within(h->pid, STAGE_PATIENCE_SECONDS * 1000);
    if (!gone) {
        printf("\n%s did not end:\n%s\n", h->base, stage_output(h));
        (void)kill(h->pid, SIGKILL);
    }
    (void)waitpid(h->pid, &status, 0);
    return gone ? child_exit_code(status) : -1;
}

/* With the key of a job of COUNT hosts, 127.0.0.1 and the addresses after it; the caller frees it.
 */
static inline SSL_CTX *stage_tls(size_t count, int is_server) {
    struct cluster_host hosts[4] = {0};
    struct cluster cluster = {.hosts = hosts, .count = count, .job = "ringmaster"};
    struct key key = {0};
    for (size_t i = 0; i < count && i < 4; i++)
        (void)snprintf(hosts[i].name.text, sizeof(hosts[i].name.text), "127.0.0.%zu", i + 1);
    CU_ASSERT_EQUAL(key_derive((const unsigned char *)"0123456789abcdef", 16, &cluster, &key, NULL),
                    0);
    SSL_CTX *context = tls_context_new(key.bytes, is_server, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(context);
    return context;
}

static inline bool stage_has_mpirun(void) {
    return access("/usr/bin/mpirun", X_OK) == 0;
}

/* The roles in which the tested program starts itself again; -1 where the arguments are none. */
static inline int stage_role(int argc, char **argv) {
    struct error err = {0};
    int code = 0;
    const char *slash = strrchr(argv[0], '/');
    const char *const *words = (const char *const *)argv;
    int result = -1;
    if (slash != NULL && strcmp(slash + 1, "agent") == 0)
        result = agent_run(words + 1, environ, &code, &err);
    else if (argc == 2 && strcmp(argv[1], "rank") == 0)
        result = rank_run(environ, &code, &err);
    else if (argc == 4 && strcmp(argv[1], "examine") == 0)
        result = preflight_child_run(words + 2, environ, &err);
    else if (argc == 3 && strcmp(argv[1], "gather") == 0)
        result = gather_run(words + 2, &err);
    else
        return -1;
    if (result != 0)
        log_error("%s", err.text);
    return result == 0 ? code : (int)err.code;
}

#define STAGE_SUITE(title, ...)                                                                    \
    UNIT_ROLE(stage_role)                                                                          \
    UNIT_SUITE(title, __VA_ARGS__)

#endif
