#include "entrypoint/transfer/web_order.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/text/redact.h"
#include "tests/support/http_server.h"
#include "tests/support/unit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A digest that is not the one of "some bytes". */
#define DIGEST "6a1cbf2bae7d5d13a4e1dbd6fbf6dd1f5b5d8b4c1a7f2d8c3d8e0b4c5d6e7f80"

static const char content[] = "some bytes";
static char last_mark[64];
static char said[1024];

static void say(const char *line) {
    (void)snprintf(said, sizeof(said), "%s", line);
}

static void mark(const char *line) {
    (void)snprintf(last_mark, sizeof(last_mark), "%s", line);
}

static void tell_size(struct http_call *call, const char *size) {
    char text[128];
    int length =
        snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\ncontent-length: %s\r\n\r\n", size);
    http_write(call, text, (size_t)length);
}

/* /file serves a file, /private asks for "u" and "pw", /large announces an impossible size. */
static void serve(struct http_call *call) {
    const bool private = strcmp(call->target, "/private") == 0;
    if (private && strcmp(http_header(call, "authorization"), "Basic dTpwdw==") != 0)
        http_reply_text(call, 401, "");
    else if (strcmp(call->target, "/large") == 0)
        tell_size(call, "4611686018427387904");
    else if (strcmp(call->target, "/file") != 0 && !private)
        http_reply_text(call, 404, "");
    else if (strcmp(call->method, "HEAD") == 0)
        tell_size(call, "10");
    else
        http_reply_text(call, 200, content);
}

static const char *path_of(const char *name) {
    static char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/web/%s", unit_temp_dir(), name);
    return path;
}

/* Fetches the file at TARGET; MORE are further members of the order. */
static int run(const struct http_server *s, const char *target, const char *more,
               struct error *err) {
    char text[4096];
    struct web_order order;
    (void)snprintf(text, sizeof(text),
                   "{\"to\": \"%s/web\", \"plain\": true, \"files\": [{\"url\": "
                   "\"http://127.0.0.1:%u%s\", \"name\": \"it\"%s}",
                   unit_temp_dir(), s->port, target, more);
    cleanup_json json_t *root = NULL;
    CU_ASSERT_EQUAL_FATAL(json_parse(text, strlen(text), "the test", &root, err), 0);
    if (web_order_parse(root, &order, err) != 0)
        return -1;
    last_mark[0] = said[0] = '\0';
    int result = web_order_run(&order, 60, say, mark, err);
    web_order_done(&order);
    return result;
}

static void a_file_is_fetched_once(void) {
    struct http_server server;
    struct error err = {0};
    cleanup_buf struct buf got = {.max = 64};
    http_server_start(&server, serve);
    CU_ASSERT_EQUAL(run(&server, "/file", "}]", &err), 0);
    CU_ASSERT_EQUAL(file_read(path_of("it"), &got, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&got), content);
    CU_ASSERT_STRING_EQUAL(last_mark, "10 10");
    const unsigned requests = atomic_load(&server.shared->requests);
    CU_ASSERT_EQUAL(run(&server, "/file", "}]", &err), 0);
    CU_ASSERT_EQUAL(atomic_load(&server.shared->requests), requests + 1);
    ASSERT_CONTAINS(said, "it is there already");
    http_server_stop(&server);
}

static void another_file_in_its_place_is_not_touched(void) {
    struct http_server server;
    struct error err = {0};
    http_server_start(&server, serve);
    CU_ASSERT_EQUAL(file_make_dirs(path_of(""), NULL), 0);
    CU_ASSERT_EQUAL(file_put(path_of("it"), "of ours", 7, 0644, NULL), 0);
    CU_ASSERT_EQUAL(run(&server, "/file", "}]", &err), -1);
    ASSERT_CONTAINS(err.text, "is there with 7 bytes, and the server has a file of 10");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    (void)unlink(path_of("it"));
    http_server_stop(&server);
}

static void the_digest_of_what_comes_and_of_what_is_there_counts(void) {
    struct http_server server;
    struct error err = {0};
    http_server_start(&server, serve);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(run(&server, "/file", ", \"sha256\": \"" DIGEST "\"}]", &err), -1);
        ASSERT_CONTAINS(err.text, "expected " DIGEST);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    }
    (void)unlink(path_of("it"));
    http_server_stop(&server);
}

static void a_user_and_a_password_are_sent(void) {
    struct http_server server;
    struct error err = {0};
    http_server_start(&server, serve);
    CU_ASSERT_EQUAL(run(&server, "/private", "}]", &err), -1);
    ASSERT_CONTAINS(err.text, "401: it asks for a user and a password");
    CU_ASSERT_EQUAL(
        run(&server, "/private", "}], \"user\": \"u\", \"password\": \"pass-word\"", &err), -1);
    ASSERT_CONTAINS(err.text, "401: it does not accept this user and password");
    CU_ASSERT_EQUAL(run(&server, "/private", "}], \"user\": \"u\", \"password\": \"pw\"", &err), 0);
    cleanup_buf struct buf clean = {.max = 64};
    CU_ASSERT_EQUAL(redact_text(&clean, "pass-word", NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&clean), "***");
    (void)unlink(path_of("it"));
    redact_done();
    http_server_stop(&server);
}

static void what_cannot_be_had_is_told_before_anything_is_fetched(void) {
    struct http_server server;
    struct error err = {0};
    http_server_start(&server, serve);
    CU_ASSERT_EQUAL(run(&server, "/none", "}]", &err), -1);
    ASSERT_CONTAINS(err.text, "404: it has no such file");
    CU_ASSERT_EQUAL(run(&server, "/large", "}], \"spare\": 100", &err), -1);
    ASSERT_CONTAINS(err.text, "MB are needed for what is made of them");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    CU_ASSERT_EQUAL(access(path_of("it"), F_OK), -1);
    http_server_stop(&server);
}

static void what_is_no_order_is_refused(void) {
    static const char *const bad[] = {
        "{}",
        "{\"to\": \"/x\"}",
        "{\"to\": \"/x\", \"files\": []}",
        "{\"files\": [{\"url\": \"https://h/f\", \"name\": \"f\"}]}",
        "{\"to\": \"/x\", \"files\": [{\"url\": \"https://h/f\"}]}",
        "{\"to\": \"/x\", \"files\": [{\"name\": \"f\"}]}",
        "{\"to\": \"/x\", \"files\": [{\"url\": \"http://h/f\", \"name\": \"f\"}]}",
        "{\"to\": \"/x\", \"files\": [{\"url\": \"http://localhost/f\", \"name\": \"f\"}]}",
        "{\"to\": \"/x\", \"files\": [{\"url\": \"s3://bucket/f\", \"name\": \"f\"}]}",
        "{\"to\": \"/x\", \"files\": [{\"url\": \"https://h/f\", \"name\": \"f\", \"sha256\": "
        "\"1\"}]}",
        "{\"to\": \"/x\", \"spare\": 5000, \"files\": [{\"url\": \"https://h/f\", \"name\": "
        "\"f\"}]}",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct web_order order;
        struct error err = {0};
        cleanup_json json_t *root = NULL;
        CU_ASSERT_EQUAL_FATAL(json_parse(bad[i], strlen(bad[i]), "the test", &root, NULL), 0);
        CU_ASSERT_EQUAL(web_order_parse(root, &order, &err), -1);
        CU_ASSERT_NOT_EQUAL(err.code, 0);
    }
}

UNIT_SUITE("transfer.web_order", UNIT(a_file_is_fetched_once),
           UNIT(another_file_in_its_place_is_not_touched),
           UNIT(the_digest_of_what_comes_and_of_what_is_there_counts),
           UNIT(a_user_and_a_password_are_sent),
           UNIT(what_cannot_be_had_is_told_before_anything_is_fetched),
           UNIT(what_is_no_order_is_refused))
