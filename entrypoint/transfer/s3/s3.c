#include "entrypoint/transfer/s3/s3.h"

#include "common/clock.h"
#include "common/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Requests are made anew for each try, and each is signed with the region, the clock and the
 * credentials that are known at that moment. A server may correct all three. s3_refused learns the
 * correction and asks for another try; the request that is made then differs.
 *
 * Up to sixteen requests run at once, and all of them may be refused for the same reason. Each
 * carries a mark (mark_of) of what it was made with. If that has changed since, another request has
 * led to the correction, and this one is only repeated. A server that keeps on correcting is no
 * danger: each repetition counts as a try of its exchange. */

enum { SKEW_LEAST = 60 }; /* seconds; a smaller difference between clocks is ignored */

/* An empty variable counts as absent. */
static const char *get(const struct argv *environment, const char *name) {
    const char *value = argv_get_env(environment, name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Returns the value of the first of NAMES that is set. */
static const char *first(const struct argv *environment, const char *const *names) {
    const char *value = NULL;
    for (; value == NULL && *names != NULL; names++)
        value = get(environment, *names);
    return value;
}

/* A region becomes part of a host name, so only letters, digits and '-' are accepted. */
static bool is_region(const char *text) {
    static const char bytes[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    size_t size = strlen(text);
    return size > 0 && size < S3_REGION_MAX && strspn(text, bytes) == size;
}

/* Refuses an address with a user or a query: neither would be part of the signature. Half of
 * S3_PLACE_MAX leaves room for the bucket. The error shows no query, which may hold a secret. */
static int check_endpoint(const char *endpoint, struct error *err) {
    if (endpoint == NULL)
        return 0;
    bool scheme = str_starts_with(endpoint, "https://") || str_starts_with(endpoint, "http://");
    if (scheme && strpbrk(endpoint, "@?# \t\r\n") == NULL && strlen(endpoint) < S3_PLACE_MAX / 2)
        return 0;
    return error_set(err, EXIT_CODE_CONFIG,
                     "AWS_ENDPOINT_URL_S3 is \"%.*s\": expected an http:// or https:// address "
                     "without user and query",
                     (int)strcspn(endpoint, "?"), endpoint);
}

/* Only the settings are checked; no server is asked. Without a setting the region of the SDKs is
 * assumed, us-east-1, and a server names the right region. */
int s3_open(struct s3 *s, const struct argv *environment, struct error *err) {
    static const char *const endpoints[] = {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL",
                                            "S3_ENDPOINT_URL", NULL};
    static const char *const regions[] = {"AWS_REGION", "AWS_DEFAULT_REGION", "SAGEMAKER_REGION",
                                          NULL};
    *s = (struct s3){.credentials = {.environment = environment},
                     .endpoint = first(environment, endpoints),
                     .certificates = get(environment, "AWS_CA_BUNDLE")};
    const char *region = first(environment, regions);
    if (region == NULL)
        region = "us-east-1";
    if (!is_region(region))
        return error_set(err, EXIT_CODE_CONFIG, "AWS_REGION: \"%.64s\" is not a region", region);
    (void)snprintf(s->region, sizeof(s->region), "%s", region);
    return check_endpoint(s->endpoint, err);
}

void s3_close(struct s3 *s) {
    credentials_done(&s->credentials);
}

/* Scheme and host for BUCKET in PLACE, and the start of the path in FRONT. A bucket with a dot goes
 * into the path, because as part of the host it would not match the certificate. A configured
 * server gets the bucket in the path, after its own path if it has one. Regions of China have
 * another domain. */
static void find_place(const struct s3 *s, const char *bucket, char place[S3_PLACE_MAX],
                       char front[S3_PLACE_MAX]) {
    const char *china = str_starts_with(s->region, "cn-") ? ".cn" : "";
    if (s->endpoint != NULL) {
        const char *host = strstr(s->endpoint, "://") + 3;
        size_t size = (size_t)(host - s->endpoint) + strcspn(host, "/");
        const char *path = s->endpoint + size;
        int length = (int)strlen(path);
        while (length > 0 && path[length - 1] == '/')
            length--;
        (void)snprintf(place, S3_PLACE_MAX, "%.*s", (int)size, s->endpoint);
        (void)snprintf(front, S3_PLACE_MAX, "%.*s/%s/", length, path, bucket);
    } else if (strchr(bucket, '.') != NULL) {
        (void)snprintf(place, S3_PLACE_MAX, "https://s3.%s.amazonaws.com%s", s->region, china);
        (void)snprintf(front, S3_PLACE_MAX, "/%s/", bucket);
    } else {
        (void)snprintf(place, S3_PLACE_MAX, "https://%s.s3.%s.amazonaws.com%s", bucket, s->region,
                       china);
        (void)snprintf(front, S3_PLACE_MAX, "/");
    }
}

/* The Host header as libcurl writes it: without a default port. */
static const char *host_of(const char *place, char ret[S3_PLACE_MAX]) {
    const char *host = strstr(place, "://") + 3;
    const char *usual = str_starts_with(place, "https:") ? ":443" : ":80";
    size_t size = strlen(host);
    size_t end = strlen(usual);
    if (size > end && strcmp(host + size - end, usual) == 0)
        size -= end;
    (void)snprintf(ret, S3_PLACE_MAX, "%.*s", (int)size, host);
    return ret;
}

/* A number that changes when the region, clock or credentials for requests change. */
static unsigned mark_of(const struct s3 *s) {
    return s->corrected + s->credentials.serial;
}

/* Adds the headers of Signature Version 4 to RET. Only one request renews refused credentials, as
 * s->renew is cleared first; `vain` notes that the source had no others. The mark is taken after
 * that, since it stands for what the signature is made with. */
static int sign(struct s3 *s, const struct s3_request *r, const char *place, const char *path,
                const char *query, struct request *ret, struct error *err) {
    char host[S3_PLACE_MAX];
    const struct credentials *credentials = NULL;
    int64_t now = clock_wall() / CLOCK_SECOND + s->skew;
    bool renew = s->renew;
    unsigned serial = s->credentials.serial;
    s->renew = false;
    if (credentials_get(&s->credentials, now, renew, &credentials, err) != 0)
        return -1;
    if (renew)
        s->vain = s->credentials.serial == serial;
    ret->mark = mark_of(s);
    const struct sigv4_request request = {.method = r->method,
                                          .host = host_of(place, host),
                                          .path = path,
                                          .query = query,
                                          .payload = r->payload != NULL ? r->payload : SIGV4_EMPTY,
                                          .region = s->region,
                                          .service = SIGV4_S3};
    return sigv4_sign(&request, credentials, now, &ret->headers, err);
}

/* The encoded path is signed and sent as it is (http/percent.h): any second encoding by libcurl
 * would invalidate the signature. */
int s3_prepare(struct s3 *s, const struct s3_request *r, struct request *ret, struct error *err) {
    char place[S3_PLACE_MAX];
    char front[S3_PLACE_MAX];
    cleanup_buf struct buf path;
    cleanup_buf struct buf query;
    find_place(s, r->bucket, place, front);
    size_t end = strlen(front);
    if (r->key[0] == '\0' && end > 1)
        front[end - 1] = '\0'; /* request for the bucket itself */
    buf_init(&path, EXCHANGE_URL_MAX);
    buf_init(&query, EXCHANGE_URL_MAX);
    if (percent_add_path(&path, front, err) != 0 || percent_add_path(&path, r->key, err) != 0 ||
        percent_add_query(&query, r->pairs, r->pair_count, err) != 0 ||
        sign(s, r, place, buf_text(&path), buf_text(&query), ret, err) != 0)
        return -1;
    ret->method = r->method;
    return buf_printf(&ret->url, err, "%s%s%s%s", place, buf_text(&path), query.size > 0 ? "?" : "",
                      buf_text(&query));
}

/* The body is searched as text. It is an error's XML from the server, and a wrong match costs one
 * try at most. */
bool s3_says(const struct answer *answer, const char *code) {
    char text[64];
    (void)snprintf(text, sizeof(text), "<Code>%s</Code>", code);
    return strstr(buf_text(&answer->words), text) != NULL;
}

/* Takes the region that the server names; once. A configured endpoint has no other region, and an
 * answer without one teaches nothing. */
static int take_region(struct s3 *s, const struct answer *answer) {
    if (s->region_given || s->endpoint != NULL || !is_region(answer->region) ||
        strcmp(answer->region, s->region) == 0)
        return -1;
    s->region_given = true;
    s->corrected++;
    (void)snprintf(s->region, sizeof(s->region), "%.*s", S3_REGION_MAX - 1, answer->region);
    return 0;
}

/* Takes over the server's clock if it differs from the one that is assumed. */
static int take_clock(struct s3 *s, const struct answer *answer) {
    struct tm parts = {0};
    if (strptime(answer->date, "%a, %d %b %Y %H:%M:%S GMT", &parts) == NULL)
        return -1;
    int64_t skew = (int64_t)timegm(&parts) - clock_wall() / CLOCK_SECOND;
    if (llabs((long long)(skew - s->skew)) < SKEW_LEAST)
        return -1;
    s->skew = skew;
    s->corrected++;
    return 0;
}

/* Requests new credentials, once for each refused request. Without success the last time (`vain`)
 * it is not asked again for the same refusal. The flag is then cleared, so that a later expiry can
 * be mended. */
static int renew(struct s3 *s) {
    s->renew = !s->vain;
    s->vain = false;
    return s->renew ? 0 : -1;
}

/* Returns true if the server refuses a region (S3 redirects, or answers 400) and names the one that
 * is in use by now. */
static bool names_our_region(const struct s3 *s, const struct answer *answer) {
    return s->endpoint == NULL && s->region_given && strcmp(answer->region, s->region) == 0 &&
           (answer->status == 301 || answer->status == 307 || answer->status == 400);
}

int s3_refused(struct s3 *s, const struct answer *answer, struct error *err) {
    const bool known = answer->mark != mark_of(s); /* corrected since that request */
    const bool skewed = s3_says(answer, "RequestTimeTooSkewed");
    /* A refused HEAD has no body that says why. */
    const bool bare = answer->status == 400 && answer->words.size == 0;
    const bool expired = bare || s3_says(answer, "ExpiredToken");
    if (take_region(s, answer) == 0 || s3_says(answer, "RequestTimeout"))
        return 0;
    if (known && (skewed || expired || names_our_region(s, answer)))
        return 0;
    if ((skewed && take_clock(s, answer) == 0) || (expired && renew(s) == 0))
        return 0;
    if (answer->status == 403)
        return error_set(
            err, EXIT_CODE_DATA,
            "the server answers 403: the credentials do not permit it, or it does not exist");
    return -1;
}
