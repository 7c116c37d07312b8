#include "entrypoint/transfer/s3/sigv4.h"

#include "common/buf.h"
#include "common/cleanup.h"
#include "entrypoint/transfer/disk/digest.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    STAMP_SIZE = 17, /* 20130524T000000Z */
    DAY_SIZE = 8,
    CANONICAL_MAX = 64 * 1024,
    NAMES_MAX = 2048,
};

/* Input of canonical request and signature. */
struct signing {
    const struct sigv4_request *request;
    char stamp[STAMP_SIZE];
    struct buf scope; /* DAY/REGION/SERVICE/aws4_request */
    struct buf names; /* of headers, separated by ';' */
    struct buf canonical;
};

static int write_stamp(int64_t now, char stamp[STAMP_SIZE], struct error *err) {
    struct tm parts;
    time_t seconds = (time_t)now;
    if (gmtime_r(&seconds, &parts) == NULL ||
        strftime(stamp, STAMP_SIZE, "%Y%m%dT%H%M%SZ", &parts) != STAMP_SIZE - 1)
        return error_set(err, EXIT_CODE_INTERNAL, "the clock shows no date");
    return 0;
}

static int by_name(const void *a, const void *b) {
    const char *first = *(const char *const *)a;
    const char *second = *(const char *const *)b;
    size_t first_size = strcspn(first, ":");
    size_t second_size = strcspn(second, ":");
    int order = memcmp(first, second, first_size < second_size ? first_size : second_size);
    return order != 0 ? order : (first_size > second_size) - (first_size < second_size);
}

static int add_headers(struct signing *s, const struct argv *headers, struct error *err) {
    cleanup_argv struct argv all = {0};
    if (argv_printf(&all, err, "host: %s", s->request->host) != 0)
        return -1;
    for (size_t i = 0; i < headers->count; i++)
        if (argv_add(&all, headers->items[i], err) != 0)
            return -1;
    qsort(all.items, all.count, sizeof(all.items[0]), by_name);
    for (size_t i = 0; i < all.count; i++) {
        const char *line = all.items[i];
        int name = (int)strcspn(line, ":");
        if (buf_printf(&s->canonical, err, "%.*s:%s\n", name, line, line + name + 2) != 0 ||
            buf_printf(&s->names, err, "%s%.*s", i > 0 ? ";" : "", name, line) != 0)
            return -1;
    }
    return 0;
}

static int make_canonical(struct signing *s, const struct argv *headers, struct error *err) {
    const struct sigv4_request *r = s->request;
    if (buf_printf(&s->canonical, err, "%s\n%s\n%s\n", r->method, r->path, r->query) != 0 ||
        add_headers(s, headers, err) != 0)
        return -1;
    return buf_printf(&s->canonical, err, "\n%s\n%s", buf_text(&s->names), r->payload);
}

/* Derives the key for a day, a region and a service from the secret. */
static int make_key(const struct signing *s, const char *secret, unsigned char key[DIGEST_SHA256],
                    struct error *err) {
    char first[SIGV4_SECRET_MAX + 4];
    char day[DAY_SIZE + 1];
    (void)snprintf(first, sizeof(first), "AWS4%s", secret);
    (void)snprintf(day, sizeof(day), "%.*s", DAY_SIZE, s->stamp);
    int made = digest_hmac(first, strlen(first), day, key, err);
    const char *const steps[] = {s->request->region, s->request->service, "aws4_request"};
    for (size_t i = 0; made == 0 && i < sizeof(steps) / sizeof(steps[0]); i++) {
        unsigned char next[DIGEST_SHA256];
        made = digest_hmac(key, DIGEST_SHA256, steps[i], next, err);
        memcpy(key, next, DIGEST_SHA256);
        OPENSSL_cleanse(next, sizeof(next));
    }
    OPENSSL_cleanse(first, sizeof(first));
    return made;
}

static int make_signature(const struct signing *s, const char *secret, char ret[DIGEST_HEX_MAX],
                          struct error *err) {
    unsigned char digest[DIGEST_SHA256];
    unsigned char key[DIGEST_SHA256];
    char hex[DIGEST_HEX_MAX];
    cleanup_buf struct buf text;
    buf_init(&text, CANONICAL_MAX);
    if (digest_sha256(s->canonical.data, s->canonical.size, digest, err) != 0)
        return -1;
    digest_hex(digest, sizeof(digest), hex);
    if (buf_printf(&text, err, "AWS4-HMAC-SHA256\n%s\n%s\n%s", s->stamp, buf_text(&s->scope),
                   hex) != 0)
        return -1;
    int made = make_key(s, secret, key, err);
    if (made == 0)
        made = digest_hmac(key, sizeof(key), buf_text(&text), digest, err);
    OPENSSL_cleanse(key, sizeof(key));
    if (made == 0)
        digest_hex(digest, sizeof(digest), ret);
    return made;
}

static int sign(struct signing *s, const struct credentials *c, struct argv *headers,
                struct error *err) {
    char signature[DIGEST_HEX_MAX];
    const struct sigv4_request *r = s->request;
    if (buf_printf(&s->scope, err, "%.*s/%s/%s/aws4_request", DAY_SIZE, s->stamp, r->region,
                   r->service) != 0 ||
        argv_printf(headers, err, "x-amz-date: %s", s->stamp) != 0 ||
        (strcmp(r->service, SIGV4_S3) == 0 &&
         argv_printf(headers, err, "x-amz-content-sha256: %s", r->payload) != 0) ||
        (c->token[0] != '\0' &&
         argv_printf(headers, err, "x-amz-security-token: %s", c->token) != 0) ||
        make_canonical(s, headers, err) != 0 || make_signature(s, c->secret, signature, err) != 0)
        return -1;
    return argv_printf(headers, err,
                       "authorization: AWS4-HMAC-SHA256 Credential=%s/%s,SignedHeaders=%s,"
                       "Signature=%s",
                       c->id, buf_text(&s->scope), buf_text(&s->names), signature);
}

int sigv4_sign(const struct sigv4_request *request, const struct credentials *credentials,
               int64_t now, struct argv *headers, struct error *err) {
    struct signing s = {.request = request};
    buf_init(&s.scope, NAMES_MAX);
    buf_init(&s.names, NAMES_MAX);
    buf_init(&s.canonical, CANONICAL_MAX);
    int result = write_stamp(now, s.stamp, err);
    if (result == 0)
        result = sign(&s, credentials, headers, err);
    buf_done(&s.scope);
    buf_done(&s.names);
    buf_done(&s.canonical);
    return result;
}
