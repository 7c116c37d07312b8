#include "common/buf.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "entrypoint/transfer/upload_order.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

static char none[] = "AWS_EC2_METADATA_DISABLED=true";
static char *items[] = {none, NULL};
static const struct argv environment = {.items = items, .count = 1};

static void say(const char *line) {
    (void)fprintf(stderr, "%s\n", line);
}

static const char *path_of(const char *name) {
    static char path[1024];
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), name);
    return path;
}

static void put(const char *name, const char *text) {
    CU_ASSERT_EQUAL(file_put(path_of(name), text, strlen(text), 0644, NULL), 0);
}

static int parse(const char *text, int64_t seconds, struct upload_order *ret, struct error *err) {
    json_t *root = json_loads(text, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(root);
    int result = upload_order_parse(root, &environment, seconds, ret, err);
    json_decref(root);
    return result;
}

static void what_is_no_order_is_refused(void) {
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"[{}]", "lacks what"},
        {"[{\"what\": \"a\", \"from\": \"/b\", \"to\": \"s3://bucket\"}]", "is no folder"},
        {"[{\"what\": \"a\", \"from\": \"/b\", \"to\": \"\"}]", "is no folder"},
        {"[{\"what\": \"a\", \"from\": \"/b\", \"to\": \"https://h/x/\"}]", "s3:// or file://"},
        {"[{\"what\": \"a\", \"from\": \"/b\", \"to\": \"s3://b/\"}]", "not a valid bucket name"},
        {"[{\"what\": \"a\", \"from\": 1, \"to\": \"s3://bucket/\"}]", "from"},
        {"[1,1,1,1,1,1,1,1,1]", "too many"},
    };
    struct upload_order o;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {0};
        CU_ASSERT_EQUAL(parse(cases[i].text, 60, &o, &err), -1);
        ASSERT_CONTAINS(err.text, cases[i].words);
        CU_ASSERT_EQUAL(o.count, 0);
    }
    CU_ASSERT_EQUAL(parse("[]", 0, &o, NULL), -1);
    CU_ASSERT_EQUAL(parse("[]", 60, &o, NULL), 0);
    upload_order_done(&o);
}

/* A child has two signals blocked when it begins. */
static void be_told_early(int number) {
    sigset_t held;
    (void)sigemptyset(&held);
    (void)sigaddset(&held, SIGUSR1);
    (void)sigaddset(&held, SIGUSR2);
    (void)sigprocmask(SIG_BLOCK, &held, NULL);
    (void)raise(number);
    (void)alarm(60);
}

/* Its life, in a process of its own. EARLY: a signal that it has been sent before, 0 for none. */
static pid_t start_told(const char *target, int early) {
    char text[8192];
    int heard[2];
    CU_ASSERT_EQUAL_FATAL(pipe(heard), 0);
    (void)snprintf(text, sizeof(text),
                   "[{\"what\": \"live\", \"from\": \"%s/live\", \"to\": \"file://%s/%s/live/\", "
                   "\"live\": true}, {\"what\": \"model\", \"from\": \"%s/model\", \"to\": "
                   "\"file://%s/%s/model/\"}]",
                   unit_temp_dir(), unit_temp_dir(), target, unit_temp_dir(), unit_temp_dir(),
                   target);
    pid_t pid = fork();
    if (pid == 0) {
        struct upload_order o;
        struct error err = {0};
        json_t *root = json_loads(text, 0, NULL);
        if (early != 0)
            be_told_early(early);
        if (upload_order_listen(&err) != 0 ||
            upload_order_parse(root, &environment, 60, &o, &err) != 0)
            _exit(9);
        (void)!write(heard[1], "x", 1);
        int result = upload_order_run(&o, say, &err);
        upload_order_done(&o);
        json_decref(root);
        _exit(result == 0 ? 0 : 1);
    }
    CU_ASSERT_EQUAL(read(heard[0], text, 1), 1);
    (void)close(heard[0]);
    (void)close(heard[1]);
    return pid;
}

static pid_t start(const char *target) {
    return start_told(target, 0);
}

static int code_of(pid_t pid) {
    int status = -1;
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Looks when FOLDER, which is there, changes. */
static bool appears(const char *folder, const char *name) {
    const int64_t end = clock_now() + 60 * CLOCK_SECOND;
    struct pollfd change = {.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), .events = POLLIN};
    char news[4096];
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/%s", path_of(folder), name);
    CU_ASSERT(inotify_add_watch(change.fd, path_of(folder), IN_CREATE | IN_MOVED_TO) >= 0);
    bool there = access(path, F_OK) == 0;
    while (!there && poll(&change, 1, clock_left_ms(end)) == 1) {
        while (read(change.fd, news, sizeof(news)) > 0)
            ;
        there = access(path, F_OK) == 0;
    }
    (void)close(change.fd);
    return there;
}

static void what_is_live_goes_at_once_and_the_rest_at_the_end(void) {
    CU_ASSERT_EQUAL(file_make_dirs(path_of("live"), NULL), 0);
    CU_ASSERT_EQUAL(file_make_dirs(path_of("model"), NULL), 0);
    put("live/first", "1");
    put("model/m", "m");
    CU_ASSERT_EQUAL(file_make_dirs(path_of("there/live"), NULL), 0);
    pid_t pid = start("there");
    CU_ASSERT_TRUE(appears("there/live", "first"));
    put("live/second", "2");
    CU_ASSERT_TRUE(appears("there/live", "second"));
    CU_ASSERT_NOT_EQUAL(access(path_of("there/model/m"), F_OK), 0);
    (void)kill(pid, SIGTERM); /* is not meant for it */
    (void)kill(pid, SIGUSR1);
    CU_ASSERT_EQUAL(code_of(pid), 0);
    CU_ASSERT_EQUAL(access(path_of("there/model/m"), F_OK), 0);
}

/* A job that is as short as that leaves something all the same. */
static void an_end_that_comes_before_it_listens_is_heard(void) {
    pid_t pid = start_told("early", SIGUSR1);
    CU_ASSERT_EQUAL(code_of(pid), 0);
    CU_ASSERT_EQUAL(access(path_of("early/model/m"), F_OK), 0);
    CU_ASSERT_EQUAL(code_of(start_told("never", SIGUSR2)), 1);
}

static void without_time_it_says_so(void) {
    pid_t pid = start("late");
    (void)kill(pid, SIGUSR2);
    CU_ASSERT_EQUAL(code_of(pid), 1);
}

static void a_target_that_fails_is_reported(void) {
    put("file", "");
    pid_t pid = start("file");
    (void)kill(pid, SIGUSR1);
    CU_ASSERT_EQUAL(code_of(pid), 1);
    CU_ASSERT_EQUAL(access(path_of("model/m"), F_OK), 0); /* and nothing is lost */
}

UNIT_SUITE("transfer.upload_order", UNIT(what_is_no_order_is_refused),
           UNIT(what_is_live_goes_at_once_and_the_rest_at_the_end),
           UNIT(an_end_that_comes_before_it_listens_is_heard), UNIT(without_time_it_says_so),
           UNIT(a_target_that_fails_is_reported))
