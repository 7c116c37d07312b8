#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file/file.h"
#include "common/text/redact.h"
#include "entrypoint/transfer/download_order.h"
#include "entrypoint/transfer/fetch/stream.h"
#include "tests/support/http_server.h"
#include "tests/support/unit.h"
#include "tests/unit/entrypoint/transfer/peer_listener.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A third of a key. */
#define ONES "11111111111111111111111111111111"

static char said[1024];

static void say(const char *line) {
    (void)snprintf(said, sizeof(said), "%s", line);
}

static int parse(const char *text, struct download_order *ret, struct error *err) {
    return download_order_parse(text, strlen(text), ret, err);
}

/* Runs an order with one task from FROM to TO, both in the test's folder. */
static int run(const char *from, const char *to, bool unpack, struct error *err) {
    struct download_order work;
    char text[16 * 1024];
    const char *base = unit_temp_dir();
    (void)snprintf(
        text, sizeof(text),
        "{\"environment\": [\"AWS_EC2_METADATA_DISABLED=true\"], \"seconds\": 60, \"tasks\": "
        "[{\"what\": \"it\", \"from\": \"file://%s/%s\", \"to\": \"%s/%s\", \"unpack\": %s}]}",
        base, from, base, to, unpack ? "true" : "false");
    CU_ASSERT_EQUAL_FATAL(parse(text, &work, NULL), 0);
    said[0] = '\0';
    int result = download_order_run(&work, say, NULL, err);
    download_order_done(&work);
    return result;
}

static const char *path_of(const char *name) {
    static char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), name);
    return path;
}

static void put(const char *name, const char *text) {
    CU_ASSERT_EQUAL(file_put(path_of(name), text, strlen(text), 0644, NULL), 0);
}

static void add_file(struct archive *a, const char *name) {
    struct archive_entry *e = archive_entry_new();
    archive_entry_set_pathname(e, name);
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_perm(e, 0644);
    archive_entry_set_size(e, 2);
    (void)archive_write_header(a, e);
    (void)archive_write_data(a, "x\n", 2);
    archive_entry_free(e);
}

/* Makes an archive with train.py, and with SECOND if it is not NULL. */
static void make_archive(const char *name, const char *second) {
    struct archive *a = archive_write_new();
    (void)archive_write_set_format_ustar(a);
    (void)archive_write_add_filter_gzip(a);
    CU_ASSERT_EQUAL(archive_write_open_filename(a, path_of(name)), ARCHIVE_OK);
    add_file(a, "train.py");
    if (second != NULL)
        add_file(a, second);
    (void)archive_write_free(a);
}

static void an_order_is_read(void) {
    struct download_order w;
    CU_ASSERT_EQUAL_FATAL(
        parse("{\"environment\": [\"AWS_SECRET_ACCESS_KEY=canary-canary\"], \"seconds\": 5, "
              "\"tasks\": [{\"what\": \"train\", \"from\": \"s3://b/k\", \"to\": \"/x\", "
              "\"shard\": 1, "
              "\"shards\": 2}, {\"what\": \"code\", \"from\": \"s3://b/k\", \"to\": \"/y\", "
              "\"unpack\": true}]}",
              &w, NULL),
        0);
    CU_ASSERT_EQUAL(w.count, 2);
    CU_ASSERT_EQUAL(w.seconds, 5);
    CU_ASSERT_STRING_EQUAL(w.tasks[0].what, "train");
    CU_ASSERT_EQUAL(w.tasks[0].shard, 1);
    CU_ASSERT_EQUAL(w.tasks[0].shards, 2);
    CU_ASSERT_FALSE(w.tasks[0].unpack);
    CU_ASSERT_TRUE(w.tasks[1].unpack);
    CU_ASSERT_EQUAL(w.tasks[1].shards, 1);
    cleanup_buf struct buf clean;
    buf_init(&clean, 256);
    CU_ASSERT_EQUAL(redact_text(&clean, "canary-canary", NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&clean), "***");
    download_order_done(&w);
}

static void what_is_no_order_is_refused(void) {
    struct error err = {0};
    struct download_order late;
    CU_ASSERT_EQUAL(parse("{\"seconds\": 0}", &late, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "the order gives its tasks 0 s; expected 1 to 604800");
    static const char *const bad[] = {
        "",
        "{}",
        "{\"seconds\": 0}",
        "{\"seconds\": 5, \"tasks\": [{}]}",
        "{\"seconds\": 5, \"tasks\": [{\"what\": \"a\", \"from\": \"b\"}]}",
        "{\"seconds\": 5, \"tasks\": [{\"what\": \"a\", \"from\": \"b\", \"to\": \"c\", \"shard\": "
        "2, "
        "\"shards\": 2}]}",
        "{\"seconds\": 5, \"environment\": [\"x\"]}",
        "{\"seconds\": 5, \"environment\": [1]}",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct download_order w;
        CU_ASSERT_EQUAL(parse(bad[i], &w, NULL), -1);
        CU_ASSERT_PTR_NULL(w.root);
    }
}

static void a_folder_of_this_machine_becomes_a_link(void) {
    char target[PATH_MAX] = "";
    struct error err = {0};
    CU_ASSERT_EQUAL(mkdir(path_of("data"), 0755), 0);
    CU_ASSERT_EQUAL(mkdir(path_of("channel"), 0755), 0);
    CU_ASSERT_EQUAL(run("data", "channel", false, NULL), 0);
    CU_ASSERT_EQUAL(run("data", "channel", false, NULL), 0); /* it stays a link */
    CU_ASSERT_TRUE(readlink(path_of("channel"), target, sizeof(target) - 1) > 0);
    CU_ASSERT_STRING_EQUAL(target, path_of("data"));
    CU_ASSERT_EQUAL(run("data", "input/data/train", false, NULL), 0); /* it makes the folders */
    CU_ASSERT_EQUAL(access(path_of("input/data/train"), X_OK), 0);
    CU_ASSERT_EQUAL(run("absent", "channel2", false, &err), -1);
    ASSERT_CONTAINS(err.text, "/absent: No such file");
    CU_ASSERT_EQUAL(mkdir(path_of("full"), 0755), 0);
    put("full/file", "x");
    CU_ASSERT_EQUAL(run("data", "full", false, &err), -1);
    ASSERT_CONTAINS(err.text, " a link to ");
}

static void code_is_unpacked_once(void) {
    make_archive("code.tar.gz", NULL);
    CU_ASSERT_EQUAL(run("code.tar.gz", "code", true, NULL), 0);
    ASSERT_CONTAINS(said, "it: 1 file unpacked into");
    CU_ASSERT_EQUAL(access(path_of("code/train.py"), F_OK), 0);
    put("code/train.py", "mine");
    CU_ASSERT_EQUAL(run("code.tar.gz", "code", true, NULL), 0);
    ASSERT_CONTAINS(said, "is not empty");
    /* Interrupted unpacking is done again. */
    put("code/.ringmaster-unpacking", "");
    CU_ASSERT_EQUAL(run("code.tar.gz", "code", true, NULL), 0);
    ASSERT_CONTAINS(said, "unpacked into");
    CU_ASSERT_NOT_EQUAL(access(path_of("code/.ringmaster-unpacking"), F_OK), 0);
}

static void what_was_unpacked_in_part_is_unpacked_again(void) {
    struct error err = {0};
    make_archive("part.tar.gz", "../evil");
    CU_ASSERT_EQUAL(run("part.tar.gz", "part", true, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "it: the archive: \"../evil\" is no path for a file");
    CU_ASSERT_EQUAL(access(path_of("part/train.py"), F_OK), 0);
    make_archive("part.tar.gz", "second.py");
    CU_ASSERT_EQUAL(run("part.tar.gz", "part", true, NULL), 0);
    ASSERT_CONTAINS(said, "it: 2 files unpacked into");
    CU_ASSERT_EQUAL(access(path_of("part/second.py"), F_OK), 0);
    CU_ASSERT_NOT_EQUAL(access(path_of("part/.ringmaster-unpacking"), F_OK), 0);
}

static void an_archive_that_is_none_is_named(void) {
    struct error err = {0};
    CU_ASSERT_EQUAL(run("absent.tar.gz", "code3", true, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "/absent.tar.gz: No such file");
    CU_ASSERT_EQUAL(mkfifo(path_of("pipe.tar.gz"), 0644), 0);
    CU_ASSERT_EQUAL(run("pipe.tar.gz", "code3", true, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "/pipe.tar.gz is not a file");
}

static struct http_server server;

static int asked[2]; /* a pipe that has a byte once the test has made its requests */

static void keep_waiting(struct http_call *call) {
    struct pollfd over = {.fd = asked[0], .events = POLLIN};
    (void)poll(&over, 1, 60 * 1000);
    http_reply_text(call, 405, "");
}

static void *work_on(void *context) {
    struct error err = {0};
    CU_ASSERT_EQUAL(download_order_run(context, say, NULL, &err), -1);
    ASSERT_CONTAINS(err.text, "405");
    return NULL;
}

static void ended(void *context, const struct error *failure) {
    struct error *ret = context;
    if (failure != NULL)
        *ret = *failure;
}

/* Stores the error that a host gets when it asks for a file of TASK for SECONDS. */
static void ask(struct peer_client *peer, const char *task, int64_t seconds, struct error *ret) {
    struct exchange_pool pool;
    struct stream f;
    int64_t fetched = 0;
    cleanup_fd int root = safe_dir_open(path_of("asks"), NULL);
    const struct stream_order order = {.peer = peer,
                                       .task = task,
                                       .name = task,
                                       .root = root,
                                       .path = "file",
                                       .size = -1,
                                       .fetched = &fetched,
                                       .ended = ended,
                                       .context = ret};
    CU_ASSERT_EQUAL(exchange_pool_open(&pool, NULL, NULL), 0);
    stream_start(&f, &order, &pool);
    (void)exchange_pool_run(&pool, clock_now() + seconds * CLOCK_SECOND, NULL);
    exchange_pool_close(&pool);
}

/* A channel with the same name as the code is another task, which is still to come. */
static void code_that_was_there_before_is_waited_for_by_nobody(void) {
    char url[PEER_URL_SIZE];
    char text[16 * 1024];
    struct download_order work;
    pthread_t other;
    struct error never = {0};
    struct error later = {0};
    struct peer_client peer = {.name = "algo-1", .url = url, .patience = 20};
    memset(peer.key, 0x11, sizeof(peer.key));
    CU_ASSERT_EQUAL(mkdir(path_of("mine"), 0755), 0);
    put("mine/train.py", "mine");
    CU_ASSERT_EQUAL_FATAL(pipe2(asked, O_CLOEXEC), 0);
    http_server_start(&server, keep_waiting);
    (void)snprintf(
        text, sizeof(text),
        "{\"environment\": [\"AWS_ENDPOINT_URL_S3=http://127.0.0.1:%u\", "
        "\"AWS_ACCESS_KEY_ID=AKID\", \"AWS_SECRET_ACCESS_KEY=hush-hush\"], \"seconds\": "
        "60, \"sharing\": {\"listener\": %d, \"key\": \"" ONES ONES ONES "\"}, \"tasks\": ["
        "{\"what\": \"code\", \"from\": \"s3://bucket/k\", \"to\": \"%s/mine\", \"unpack\": true, "
        "\"pass\": true}, {\"what\": \"code\", \"from\": \"s3://bucket/set\", \"to\": "
        "\"%s/set\", \"pass\": true}]}",
        server.port, peer_listener(url), unit_temp_dir(), unit_temp_dir());
    CU_ASSERT_EQUAL_FATAL(parse(text, &work, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&other, NULL, work_on, &work), 0);
    ask(&peer, "archive/code", 40, &never);
    ask(&peer, "channel/code", 3, &later);
    CU_ASSERT_EQUAL(write(asked[1], "x", 1), 1);
    (void)pthread_join(other, NULL);
    ASSERT_CONTAINS(never.text, "algo-1 does not have it");
    ASSERT_CONTAINS(later.text, "it did not finish in time");
    download_order_done(&work);
    http_server_stop(&server);
    (void)close(asked[0]);
    (void)close(asked[1]);
}

static void the_first_error_has_its_tasks_name(void) {
    struct error err = {0};
    put("none.tar.gz", "no archive at all");
    CU_ASSERT_EQUAL(run("none.tar.gz", "code2", true, &err), -1);
    ASSERT_CONTAINS(err.text, "it: the archive cannot be read");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
}

/* Runs an order whose only task is TASK. */
static int do_task(const char *task, struct error *err) {
    struct download_order work;
    char text[16 * 1024];
    (void)snprintf(text, sizeof(text), "{\"seconds\": 60, \"tasks\": [%s]}", task);
    CU_ASSERT_EQUAL_FATAL(parse(text, &work, NULL), 0);
    int result = download_order_run(&work, say, NULL, err);
    download_order_done(&work);
    return result;
}

static void a_target_is_tried(void) {
    char task[8 * 1024];
    struct error err = {0};
    (void)snprintf(task, sizeof(task),
                   "{\"what\": \"output\", \"target\": true, \"to\": \"file://%s/out/\"}",
                   unit_temp_dir());
    CU_ASSERT_EQUAL(do_task(task, NULL), 0);
    CU_ASSERT_EQUAL(access(path_of("out"), F_OK), 0);
    CU_ASSERT_EQUAL(do_task("{\"what\": \"output\", \"target\": true, \"to\": "
                            "\"file:///proc/no/\"}",
                            &err),
                    -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "output: /proc/no");
    CU_ASSERT_EQUAL(do_task("{\"what\": \"output\", \"target\": true, \"to\": "
                            "\"https://h/x/\"}",
                            &err),
                    -1);
    ASSERT_CONTAINS(err.text, "only be uploaded to s3:// or file://");
}

/* The host's folder is created if it is missing, and the link leads to it. */
static void checkpoints_in_a_folder_are_a_link(void) {
    char task[8 * 1024];
    (void)snprintf(task, sizeof(task),
                   "{\"what\": \"checkpoints\", \"back\": true, \"from\": "
                   "\"file://%s/states\", \"to\": \"%s/checkpoints\"}",
                   unit_temp_dir(), unit_temp_dir());
    CU_ASSERT_EQUAL(do_task(task, NULL), 0);
    put("states/one", "1");
    CU_ASSERT_EQUAL(access(path_of("checkpoints/one"), F_OK), 0);
}

static void an_order_of_uploads_is_distinguished(void) {
    struct download_order w;
    CU_ASSERT_EQUAL_FATAL(parse("{\"seconds\": 5, \"uploads\": []}", &w, NULL), 0);
    CU_ASSERT_PTR_NOT_NULL(w.uploads);
    download_order_done(&w);
    CU_ASSERT_EQUAL_FATAL(parse("{\"seconds\": 5}", &w, NULL), 0);
    CU_ASSERT_PTR_NULL(w.uploads);
    download_order_done(&w);
}

UNIT_SUITE("transfer.download_order", UNIT(a_target_is_tried),
           UNIT(checkpoints_in_a_folder_are_a_link), UNIT(an_order_of_uploads_is_distinguished),
           UNIT(an_order_is_read), UNIT(what_is_no_order_is_refused),
           UNIT(a_folder_of_this_machine_becomes_a_link), UNIT(code_is_unpacked_once),
           UNIT(what_was_unpacked_in_part_is_unpacked_again),
           UNIT(an_archive_that_is_none_is_named),
           UNIT(code_that_was_there_before_is_waited_for_by_nobody),
           UNIT(the_first_error_has_its_tasks_name))
