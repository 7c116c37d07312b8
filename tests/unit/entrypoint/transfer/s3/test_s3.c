#include "common/clock.h"
#include "entrypoint/transfer/s3/s3.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void open_with(struct s3 *s, struct argv *environment, const char *endpoint,
                      const char *region) {
    CU_ASSERT_EQUAL(argv_set_env(environment, "AWS_ACCESS_KEY_ID", "AKID", NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(environment, "AWS_SECRET_ACCESS_KEY", "hush-hush", NULL), 0);
    if (endpoint != NULL)
        CU_ASSERT_EQUAL(argv_set_env(environment, "AWS_ENDPOINT_URL_S3", endpoint, NULL), 0);
    if (region != NULL)
        CU_ASSERT_EQUAL(argv_set_env(environment, "AWS_REGION", region, NULL), 0);
    CU_ASSERT_EQUAL(s3_open(s, environment, NULL), 0);
}

static const char *header(const struct request *r, const char *name) {
    size_t size = strlen(name);
    for (size_t i = 0; i < r->headers.count; i++)
        if (strncmp(r->headers.items[i], name, size) == 0 && r->headers.items[i][size] == ':')
            return r->headers.items[i] + size + 2;
    return "";
}

static void buckets_have_their_addresses(void) {
    static const struct {
        const char *endpoint, *region, *bucket, *key, *url, *scope;
    } cases[] = {
        {NULL, NULL, "data", "a/b c+1", "https://data.s3.us-east-1.amazonaws.com/a/b%20c%2B1",
         "/us-east-1/s3/"},
        {NULL, "eu-west-1", "my.data", "x", "https://s3.eu-west-1.amazonaws.com/my.data/x",
         "/eu-west-1/s3/"},
        {NULL, "cn-north-1", "data", "", "https://data.s3.cn-north-1.amazonaws.com.cn/",
         "/cn-north-1/s3/"},
        {"http://minio:9000", NULL, "data", "a//b", "http://minio:9000/data/a//b",
         "/us-east-1/s3/"},
        {"https://host/front/", NULL, "data", "k", "https://host/front/data/k", "/us-east-1/s3/"},
        {"https://host/", NULL, "data", "", "https://host/data", "/us-east-1/s3/"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_argv struct argv environment = {0};
        struct s3 s;
        struct request got = {.fd = -1};
        open_with(&s, &environment, cases[i].endpoint, cases[i].region);
        buf_init(&got.url, EXCHANGE_URL_MAX);
        const struct s3_request request = {
            .method = "GET", .bucket = cases[i].bucket, .key = cases[i].key};
        CU_ASSERT_EQUAL(s3_prepare(&s, &request, &got, NULL), 0);
        CU_ASSERT_STRING_EQUAL(buf_text(&got.url), cases[i].url);
        ASSERT_CONTAINS(header(&got, "authorization"), cases[i].scope);
        CU_ASSERT_STRING_EQUAL(header(&got, "x-amz-content-sha256"), SIGV4_EMPTY);
        request_done(&got);
        s3_close(&s);
    }
}

static void what_is_no_address_is_refused(void) {
    static const struct {
        const char *name, *value, *words;
    } cases[] = {
        {"AWS_ENDPOINT_URL_S3", "minio:9000", "AWS_ENDPOINT_URL_S3 is \"minio:9000\""},
        {"AWS_ENDPOINT_URL", "https://u:p@host", "expected an http:// or https://"},
        {"S3_ENDPOINT_URL", "http://host/?x=secret", "expected an http:// or https://"},
        {"AWS_REGION", "US East", "\"US East\" is not a region"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_argv struct argv environment = {0};
        struct error err = {0};
        struct s3 s;
        CU_ASSERT_EQUAL(argv_set_env(&environment, cases[i].name, cases[i].value, NULL), 0);
        CU_ASSERT_EQUAL(s3_open(&s, &environment, &err), -1);
        ASSERT_CONTAINS(err.text, cases[i].words);
        CU_ASSERT_PTR_NULL(strstr(err.text, "secret"));
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    }
}

static struct answer refusal(long status, const char *words) {
    struct answer a = {.status = status};
    buf_init(&a.words, 1024);
    CU_ASSERT_EQUAL(buf_add_text(&a.words, words, NULL), 0);
    return a;
}

/* The mark of a request that is made now. */
static unsigned prepare(struct s3 *s) {
    const struct s3_request request = {.method = "GET", .bucket = "bucket", .key = "key"};
    struct request made = {.fd = -1, .size = -1};
    buf_init(&made.url, 4096);
    CU_ASSERT_EQUAL(s3_prepare(s, &request, &made, NULL), 0);
    unsigned mark = made.mark;
    request_done(&made);
    return mark;
}

static void a_server_corrects_us(void) {
    cleanup_argv struct argv environment = {0};
    struct s3 s;
    struct error err = {0};
    open_with(&s, &environment, NULL, "eu-west-1");
    struct answer moved = refusal(301, "<Error><Code>PermanentRedirect</Code></Error>");
    (void)snprintf(moved.region, sizeof(moved.region), "ap-south-1");
    CU_ASSERT_EQUAL(s3_refused(&s, &moved, &err), 0);
    CU_ASSERT_STRING_EQUAL(s.region, "ap-south-1");
    CU_ASSERT_EQUAL(s3_refused(&s, &moved, &err), 0); /* of the same time */
    moved.mark = prepare(&s);
    CU_ASSERT_EQUAL(s3_refused(&s, &moved, &err), -1);
    (void)snprintf(moved.region, sizeof(moved.region), "us-west-2");
    CU_ASSERT_EQUAL(s3_refused(&s, &moved, &err), -1);
    buf_done(&moved.words);

    struct answer late = refusal(403, "<Code>RequestTimeTooSkewed</Code>");
    time_t theirs = (time_t)(clock_wall() / CLOCK_SECOND) + 7200;
    struct tm parts;
    CU_ASSERT_PTR_NOT_NULL(gmtime_r(&theirs, &parts));
    (void)strftime(late.date, sizeof(late.date), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    late.mark = prepare(&s);
    CU_ASSERT_EQUAL(s3_refused(&s, &late, &err), 0);
    CU_ASSERT_TRUE(s.skew >= 7198 && s.skew <= 7200);
    CU_ASSERT_EQUAL(s3_refused(&s, &late, &err), 0); /* it was made before */
    CU_ASSERT_EQUAL(s.corrected, 2);
    late.mark = prepare(&s);
    CU_ASSERT_EQUAL(s3_refused(&s, &late, &err), -1);
    buf_done(&late.words);

    struct answer ended = refusal(400, "<Code>ExpiredToken</Code>");
    for (int i = 0; i < 2; i++) { /* each request that is refused asks anew, once */
        ended.mark = prepare(&s);
        CU_ASSERT_EQUAL(s3_refused(&s, &ended, &err), 0);
        CU_ASSERT_TRUE(s.renew);
        ended.mark = prepare(&s);
        CU_ASSERT_FALSE(s.renew);
        CU_ASSERT_EQUAL(s3_refused(&s, &ended, &err), -1); /* the environment has no others */
    }
    CU_ASSERT_EQUAL(argv_set_env(&environment, "AWS_SESSION_TOKEN", "another", NULL), 0);
    CU_ASSERT_EQUAL(s3_refused(&s, &ended, &err), 0);
    unsigned before = ended.mark;
    ended.mark = prepare(&s);
    CU_ASSERT_NOT_EQUAL(ended.mark, before);
    ended.mark = before;
    CU_ASSERT_EQUAL(s3_refused(&s, &ended, &err), 0); /* of the old ones */
    CU_ASSERT_FALSE(s.renew);
    buf_done(&ended.words);
    struct answer bare = refusal(400, ""); /* of a HEAD, which has no words */
    bare.mark = prepare(&s);
    CU_ASSERT_EQUAL(s3_refused(&s, &bare, &err), 0);
    bare.mark = prepare(&s);
    CU_ASSERT_EQUAL(s3_refused(&s, &bare, &err), -1);
    buf_done(&bare.words);

    struct answer denied = refusal(403, "<Code>AccessDenied</Code>");
    CU_ASSERT_EQUAL(s3_refused(&s, &denied, &err), -1);
    ASSERT_CONTAINS(err.text, "403: the credentials do not permit it");
    buf_done(&denied.words);
    s3_close(&s);
}

/* A region by a server of one's own choice would send signatures to another place. */
static void an_endpoint_of_ones_own_stays(void) {
    cleanup_argv struct argv environment = {0};
    struct s3 s;
    open_with(&s, &environment, "http://127.0.0.1:9", NULL);
    struct answer moved = refusal(301, "");
    (void)snprintf(moved.region, sizeof(moved.region), "ap-south-1");
    CU_ASSERT_EQUAL(s3_refused(&s, &moved, NULL), -1);
    CU_ASSERT_STRING_EQUAL(s.region, "us-east-1");
    buf_done(&moved.words);
    s3_close(&s);
}

UNIT_SUITE("transfer.s3", UNIT(buckets_have_their_addresses), UNIT(what_is_no_address_is_refused),
           UNIT(a_server_corrects_us), UNIT(an_endpoint_of_ones_own_stays))
