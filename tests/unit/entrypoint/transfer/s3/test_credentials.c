#include "common/file/file.h"
#include "common/text/redact.h"
#include "entrypoint/transfer/s3/credentials.h"
#include "tests/support/http_server.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static const int64_t now = 1700000000;
static struct http_server server;

/* The endpoint gives nothing to a client without the token. */
static void answer(struct http_call *call) {
    char text[512];
    bool token = strcmp(http_header(call, "x-aws-ec2-metadata-token"), "meta-token") == 0;
    (void)snprintf(text, sizeof(text),
                   "{\"RoleArn\": \"arn\", \"AccessKeyId\": \"ASIA%u\", \"SecretAccessKey\": "
                   "\"hush-hush-%u\", \"Token\": \"token-token-%u\", \"Expiration\": "
                   "\"2023-11-14T23:13:20.000Z\"}", /* in an hour */
                   call->number, call->number, call->number);
    if (strcmp(call->target, "/creds") == 0)
        http_reply_text(call, strcmp(http_header(call, "authorization"), "from file") ? 401 : 200,
                        text);
    else if (strcmp(call->target, "/latest/api/token") == 0 && strcmp(call->method, "PUT") == 0 &&
             strcmp(http_header(call, "x-aws-ec2-metadata-token-ttl-seconds"), "21600") == 0)
        http_reply_text(call, 200, "meta-token");
    else if (token && strcmp(call->target, "/latest/meta-data/iam/security-credentials/") == 0)
        http_reply_text(call, 200, "the-role\n");
    else if (token &&
             strcmp(call->target, "/latest/meta-data/iam/security-credentials/the-role") == 0)
        http_reply_text(call, 200, text);
    else
        http_reply_text(call, 403, "no");
}

static void set(struct argv *environment, const char *name, const char *value) {
    CU_ASSERT_EQUAL(argv_set_env(environment, name, value, NULL), 0);
}

static void set_url(struct argv *environment, const char *name, const char *path) {
    char url[256];
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", server.port, path);
    set(environment, name, url);
}

static void the_environment_comes_first(void) {
    cleanup_argv struct argv environment = {0};
    struct credential_source s = {.environment = &environment};
    const struct credentials *got = NULL;
    struct error err = {0};
    set_url(&environment, "AWS_CONTAINER_CREDENTIALS_FULL_URI", "/none");
    set(&environment, "AWS_ACCESS_KEY_ID", "AKIA");
    CU_ASSERT_EQUAL(credentials_get(&s, now, false, &got, &err), -1);
    ASSERT_CONTAINS(err.text, "AWS_ACCESS_KEY_ID is set without AWS_SECRET_ACCESS_KEY");
    set(&environment, "AWS_SECRET_ACCESS_KEY", "canary-secret");
    CU_ASSERT_EQUAL(credentials_get(&s, now, false, &got, NULL), 0);
    CU_ASSERT_STRING_EQUAL(got->id, "AKIA");
    CU_ASSERT_STRING_EQUAL(got->secret, "canary-secret");
    CU_ASSERT_STRING_EQUAL(got->token, "");
    CU_ASSERT_EQUAL(got->expires, 0);
    cleanup_buf struct buf said;
    buf_init(&said, 256);
    CU_ASSERT_EQUAL(redact_text(&said, "it is canary-secret", NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&said), "it is ***");
    credentials_done(&s);
    CU_ASSERT_STRING_EQUAL(s.current.secret, "");
}

static void the_containers_are_asked_for_again_before_they_end(void) {
    cleanup_argv struct argv environment = {0};
    struct credential_source s = {.environment = &environment};
    const struct credentials *got = NULL;
    char path[512];
    char first[SIGV4_ID_MAX];
    (void)snprintf(path, sizeof(path), "%s/token", unit_temp_dir());
    CU_ASSERT_EQUAL(file_put(path, "from file\n", 10, 0600, NULL), 0);
    set_url(&environment, "AWS_CONTAINER_CREDENTIALS_FULL_URI", "/creds");
    set(&environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", path);
    CU_ASSERT_EQUAL(credentials_get(&s, now, false, &got, NULL), 0);
    (void)snprintf(first, sizeof(first), "%s", got->id);
    ASSERT_CONTAINS(first, "ASIA");
    ASSERT_CONTAINS(got->token, "token-token-");
    CU_ASSERT_EQUAL(got->expires, now + 3600);
    CU_ASSERT_EQUAL(credentials_get(&s, now + 3299, false, &got, NULL), 0);
    CU_ASSERT_STRING_EQUAL(got->id, first);
    CU_ASSERT_EQUAL(credentials_get(&s, now + 3300, false, &got, NULL), 0);
    CU_ASSERT_STRING_NOT_EQUAL(got->id, first);
    (void)snprintf(first, sizeof(first), "%s", got->id);
    CU_ASSERT_EQUAL(credentials_get(&s, now, true, &got, NULL), 0); /* were refused */
    CU_ASSERT_STRING_NOT_EQUAL(got->id, first);
    /* Without the source they hold to their end, and no longer. */
    struct error err = {0};
    CU_ASSERT_EQUAL(file_put(path, "wrong", 5, 0600, NULL), 0);
    CU_ASSERT_EQUAL(credentials_get(&s, now + 3599, false, &got, NULL), 0);
    CU_ASSERT_EQUAL(credentials_get(&s, now + 3600, false, &got, &err), -1);
    ASSERT_CONTAINS(err.text, "the container's credentials: the server answers 401");
    credentials_done(&s);
}

static void the_instance_is_asked_last_and_by_version_two(void) {
    cleanup_argv struct argv environment = {0};
    struct credential_source s = {.environment = &environment};
    const struct credentials *got = NULL;
    set_url(&environment, "AWS_EC2_METADATA_SERVICE_ENDPOINT", "");
    CU_ASSERT_EQUAL(credentials_get(&s, now, false, &got, NULL), 0);
    ASSERT_CONTAINS(got->secret, "hush-hush-");
    credentials_done(&s);
    struct error err = {0};
    set(&environment, "AWS_EC2_METADATA_DISABLED", "true");
    CU_ASSERT_EQUAL(credentials_get(&s, now, false, &got, &err), -1);
    ASSERT_CONTAINS(err.text, "no AWS credentials");
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
}

static void the_network_runs(void) {
    http_server_start(&server, answer);
    the_environment_comes_first();
    the_containers_are_asked_for_again_before_they_end();
    the_instance_is_asked_last_and_by_version_two();
    http_server_stop(&server);
}

static void answers_that_are_none_are_refused(void) {
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "AWS credentials"},
        {"{}", "no AccessKeyId"},
        {"{\"AccessKeyId\": \"a\"}", "no AccessKeyId or SecretAccessKey"},
        {"{\"AccessKeyId\": 1, \"SecretAccessKey\": \"b\"}", "AccessKeyId"},
        {"{\"AccessKeyId\": \"a\", \"SecretAccessKey\": \"b\\r\\nx: y\"}", "line breaks"},
        {"{\"AccessKeyId\": \"a\", \"SecretAccessKey\": \"b\", \"Expiration\": \"soon\"}",
         "\"soon\" is not a time"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct credentials got;
        struct error err = {0};
        CU_ASSERT_EQUAL(credentials_parse(cases[i].text, strlen(cases[i].text), &got, &err), -1);
        ASSERT_CONTAINS(err.text, cases[i].words);
    }
}

/* 1795377600 is 20:00 of that day in UTC, as `date -u -d 2026-11-22T20:00:00Z +%s` says. */
static void times_may_have_an_offset(void) {
    static const struct {
        const char *time;
        int64_t seconds; /* -1: refused */
    } cases[] = {
        {"2026-11-22T20:00:00Z", 1795377600},
        {"2026-11-22T20:00:00.25Z", 1795377600},
        {"2026-11-22T20:00:00+00:00", 1795377600},
        {"2026-11-22T22:30:00+02:30", 1795377600},
        {"2026-11-22T22:30:00.5+0230", 1795377600},
        {"2026-11-22T12:00:00-08:00", 1795377600},
        {"2026-11-22T20:00:00", -1},
        {"2026-11-22T20:00:00+", -1},
        {"2026-11-22T20:00:00+02:00 ", -1},
        {"2026-11-22T20:00:00ZZ", -1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct credentials got;
        struct error err = {0};
        char text[160];
        (void)snprintf(text, sizeof(text),
                       "{\"AccessKeyId\": \"a\", \"SecretAccessKey\": \"b\", "
                       "\"Expiration\": \"%s\"}",
                       cases[i].time);
        const int parsed = credentials_parse(text, strlen(text), &got, &err);
        CU_ASSERT_EQUAL(parsed, cases[i].seconds < 0 ? -1 : 0);
        if (parsed != 0)
            ASSERT_CONTAINS(err.text, "is not a time");
        else
            CU_ASSERT_EQUAL(got.expires, cases[i].seconds);
    }
}

static void secrets_are_asked_for_at_safe_places_alone(void) {
    static const char *const good[] = {
        "https://example.com/x",        "http://127.0.0.1:80/x",  "http://localhost",
        "http://169.254.170.2/v2/x",    "http://169.254.170.23/", "http://[fd00:ec2::23]/x",
        "http://169.254.169.254/latest"};
    static const char *const bad[] = {"http://example.com/x",
                                      "http://127.0.0.1.example.com/",
                                      "http://localhost@example.com/",
                                      "ftp://localhost/",
                                      "http://169.254.170.20/",
                                      "file:///etc/passwd",
                                      ""};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        CU_ASSERT_TRUE(credentials_may_ask(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CU_ASSERT_FALSE(credentials_may_ask(bad[i]));
}

UNIT_SUITE("transfer.credentials", UNIT(the_network_runs), UNIT(answers_that_are_none_are_refused),
           UNIT(times_may_have_an_offset), UNIT(secrets_are_asked_for_at_safe_places_alone))
