#include "entrypoint/transfer/s3/credentials.h"

#include "common/cleanup.h"
#include "common/file/file.h"
#include "common/json/json.h"
#include "common/str.h"
#include "common/text/redact.h"
#include "entrypoint/transfer/http/exchange_pool.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* s3.c calls credentials_get for every request that it signs. Most calls return what is there. A
 * call that renews blocks all other transfers of this process for as long as the service takes, at
 * most ASK_SECONDS for each request.
 *
 * `find` chooses the source as the SDKs do: the first one that is configured counts, also if it
 * fails. Only the instance's metadata need no setting and are therefore tried last. Each source
 * writes to s->current, and credentials_get restores the old value after a failure.
 *
 * Answers and tokens are wiped from memory after use. redact.h learns secrets and session tokens in
 * `fill` and the services' own tokens where they are read. */

enum {
    ANSWER_MAX = 64 * 1024, /* bytes of any answer below */
    TOKEN_FILE_MAX = 16 * 1024,
    ASK_SECONDS = 20,
    ASK_SILENCE_SECONDS = 5, /* seconds without a byte that end a try */
    METADATA_SECONDS = 6,    /* short, because without such a service there is no answer at all */
    METADATA_SILENCE_SECONDS = 2,
};

void credentials_done(struct credential_source *s) {
    OPENSSL_cleanse(&s->current, sizeof(s->current));
    s->have = false;
}

/* --- fields ----------------------------------------------------------------------------------- */

/* Copies VALUE to RET. Line breaks are refused: the value becomes part of a header, and what
 * follows a break would be a header of its own. */
static int keep(char *ret, size_t size, const char *value, const char *what, struct error *err) {
    if (strlen(value) >= size || value[strcspn(value, "\r\n")] != '\0')
        return error_set(err, EXIT_CODE_CONFIG,
                         "AWS credentials: %s is too long or contains line breaks", what);
    (void)snprintf(ret, size, "%s", value);
    return 0;
}

/* Takes over key, secret and session token; TOKEN may be NULL. Secrets are registered before
 * anything can print them. */
static int fill(struct credentials *c, const char *id, const char *secret, const char *token,
                struct error *err) {
    if (keep(c->id, sizeof(c->id), id, "the key's id", err) != 0 ||
        keep(c->secret, sizeof(c->secret), secret, "the secret", err) != 0 ||
        keep(c->token, sizeof(c->token), token != NULL ? token : "", "the token", err) != 0)
        return -1;
    return redact_add(c->secret, err) == 0 ? redact_add(c->token, err) : -1;
}

/* Parses "Z", "+hh:mm" or "-hh:mm", with or without the colon. Returns false for any other text. */
static bool parse_zone(const char *text, int64_t *ret_seconds) {
    struct tm zone = {0};
    *ret_seconds = 0;
    if (strcmp(text, "Z") == 0)
        return true;
    if (*text != '+' && *text != '-')
        return false;
    const char *rest = strptime(text + 1, "%H:%M", &zone);
    if (rest == NULL)
        rest = strptime(text + 1, "%H%M", &zone);
    *ret_seconds = (*text == '-' ? -60 : 60) * (int64_t)(zone.tm_hour * 60 + zone.tm_min);
    return rest != NULL && *rest == '\0';
}

/* Parses "2026-11-22T20:00:00Z", with or without a fraction, or with an offset from UTC in place of
 * the Z. Returns seconds since 1970, or -1. */
static int64_t parse_time(const char *text) {
    struct tm parts = {0};
    int64_t zone;
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    if (rest != NULL && *rest == '.')
        rest += 1 + strspn(rest + 1, "0123456789");
    if (rest == NULL || !parse_zone(rest, &zone))
        return -1;
    return (int64_t)timegm(&parts) - zone;
}

/* An absent Expiration gives 0: such credentials are never renewed by time, only if a server
 * refuses them. */
int credentials_parse(const char *text, size_t size, struct credentials *ret, struct error *err) {
    static const char source[] = "the answer with AWS credentials";
    cleanup_json json_t *root = NULL;
    const char *id = NULL;
    const char *secret = NULL;
    const char *token = NULL;
    const char *expires = NULL;
    *ret = (struct credentials){0};
    if (json_parse(text, size, source, &root, err) != 0 ||
        json_member_string(root, source, "AccessKeyId", &id, err) != 0 ||
        json_member_string(root, source, "SecretAccessKey", &secret, err) != 0 ||
        json_member_string(root, source, "Token", &token, err) != 0 ||
        json_member_string(root, source, "Expiration", &expires, err) != 0)
        return -1;
    if (id == NULL || secret == NULL)
        return error_set(err, EXIT_CODE_CONFIG, "%s has no AccessKeyId or SecretAccessKey", source);
    ret->expires = expires != NULL ? parse_time(expires) : 0;
    if (ret->expires < 0)
        return error_set(err, EXIT_CODE_CONFIG, "%s: Expiration \"%.64s\" is not a time", source,
                         expires);
    return fill(ret, id, secret, token, err);
}

/* The addresses are those of ECS and EKS for containers, and of EC2's metadata, in IPv4 and IPv6.
 * The name has to end where the host does, and an '@' is refused: "http://localhost:80@example.com"
 * names another host. */
bool credentials_may_ask(const char *url) {
    static const char *const hosts[] = {"localhost",      "127.0.0.1",      "[::1]",
                                        "169.254.170.2",  "169.254.170.23", "169.254.169.254",
                                        "[fd00:ec2::23]", "[fd00:ec2::254]"};
    if (str_starts_with(url, "https://"))
        return true;
    if (!str_starts_with(url, "http://"))
        return false;
    const char *host = url + strlen("http://");
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        size_t size = strlen(hosts[i]);
        if (strncmp(host, hosts[i], size) == 0 &&
            (host[size] == '\0' || host[size] == '/' || host[size] == ':'))
            return strchr(host, '@') == NULL;
    }
    return false;
}

/* --- requests --------------------------------------------------------------------------------- */

/* One request for credentials, as the context of its callback. */
struct asking {
    const char *method;
    const char *url;
    const char *header; /* "name: " */
    const char *value;  /* NULL: no header */
};

static int prepare(void *context, struct request *ret, struct error *err) {
    const struct asking *a = context;
    ret->method = a->method;
    if (a->value != NULL && argv_printf(&ret->headers, err, "%s%s", a->header, a->value) != 0)
        return -1;
    return buf_add_text(&ret->url, a->url, err);
}

/* Gets an answer's text in RET, which is treated as a secret. QUICK has short limits and one
 * repetition, for a service that may not exist. The address is checked here, so that no way to it
 * is forgotten. */
static int ask(const struct asking *a, const char *name, bool quick, struct buf *ret,
               struct error *err) {
    struct question q = {.name = name,
                         .prepare = prepare,
                         .context = (void *)(uintptr_t)a,
                         .tries = quick ? 2 : 0,
                         .silence = quick ? METADATA_SILENCE_SECONDS : ASK_SILENCE_SECONDS,
                         .seconds = quick ? METADATA_SECONDS : ASK_SECONDS};
    buf_init(ret, ANSWER_MAX);
    if (!credentials_may_ask(a->url))
        return error_set(err, EXIT_CODE_CONFIG,
                         "%s: credentials are only requested over https, or over http from this "
                         "machine's or the platform's own addresses",
                         name);
    return exchange_pool_ask(&q, ret, NULL, err);
}

/* Clears the memory of a secret before it is freed. */
static void wipe(struct buf *b) {
    if (b->data != NULL)
        OPENSSL_cleanse(b->data, b->capacity);
    buf_done(b);
}

/* Returns a variable of the job; an empty one counts as absent. */
static const char *get(const struct credential_source *s, const char *name) {
    const char *value = argv_get_env(s->environment, name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* --- three sources ---------------------------------------------------------------------------- */

/* Credentials of the environment have no time of expiry here, as no variable tells it. A key
 * without its secret is a mistake to be reported, not a reason to look elsewhere. */
static int from_environment(struct credential_source *s, struct error *err) {
    const char *id = get(s, "AWS_ACCESS_KEY_ID");
    const char *secret = get(s, "AWS_SECRET_ACCESS_KEY");
    if (id == NULL || secret == NULL)
        return error_set(err, EXIT_CODE_CONFIG, "%s is set without %s",
                         id != NULL ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                         id != NULL ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
    return fill(&s->current, id, secret, get(s, "AWS_SESSION_TOKEN"), err);
}

/* The token for the container's endpoint; *RET is NULL if it needs none. The file is read each
 * time, because its content changes. */
static int container_token(const struct credential_source *s, struct buf *file, const char **ret,
                           struct error *err) {
    const char *path = get(s, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    *ret = get(s, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
    buf_init(file, TOKEN_FILE_MAX);
    if (path != NULL) {
        if (file_read(path, file, err) != 0)
            return error_wrap(err, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
        while (file->size > 0 && strchr("\r\n \t", file->data[file->size - 1]) != NULL)
            file->data[--file->size] = '\0';
        *ret = buf_text(file);
    }
    if (*ret != NULL && strpbrk(*ret, "\r\n") != NULL)
        return error_set(err, EXIT_CODE_CONFIG, "the container's token contains line breaks");
    return *ret != NULL ? redact_add(*ret, err) : 0;
}

/* Asks the endpoint that ECS, SageMaker or EKS names to the container. The token, where there is
 * one, goes into the authorization header as it is. */
static int from_container(struct credential_source *s, const char *url, struct error *err) {
    struct buf file = {0};
    struct buf text = {0};
    struct asking a = {.method = "GET", .url = url, .header = "authorization: "};
    int result = container_token(s, &file, &a.value, err);
    if (result == 0)
        result = ask(&a, "the container's credentials", false, &text, err);
    if (result == 0)
        result = credentials_parse(buf_text(&text), text.size, &s->current, err);
    wipe(&file);
    wipe(&text);
    return result;
}

/* BASE has no slash at its end. */
static int ask_metadata(const char *base, const char *path, const char *method, const char *header,
                        const char *value, struct buf *ret, struct error *err) {
    char url[1024];
    if (snprintf(url, sizeof(url), "%s/latest/%s", base, path) >= (int)sizeof(url))
        return error_set(err, EXIT_CODE_CONFIG, "the metadata's address is too long");
    const struct asking a = {.method = method, .url = url, .header = header, .value = value};
    return ask(&a, "the instance's metadata", true, ret, err);
}

/* Version 2 of EC2's metadata takes three requests: a session token (for 21,600 s, the most that is
 * allowed), the name of the instance's role, and the role's credentials. Version 1, which needs no
 * token, is not used. */
static int from_metadata(struct credential_source *s, struct error *err) {
    static const char roles[] = "meta-data/iam/security-credentials/";
    static const char with[] = "x-aws-ec2-metadata-token: ";
    const char *base = get(s, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
    char path[512];
    struct buf token = {0};
    struct buf role = {0};
    struct buf text = {0};
    if (base == NULL)
        base = "http://169.254.169.254";
    int result = ask_metadata(base, "api/token", "PUT",
                              "x-aws-ec2-metadata-token-ttl-seconds: ", "21600", &token, err);
    if (result == 0)
        result = redact_add(buf_text(&token), err);
    if (result == 0)
        result = ask_metadata(base, roles, "GET", with, buf_text(&token), &role, err);
    if (result == 0) {
        (void)snprintf(path, sizeof(path), "%s%.*s", roles, (int)strcspn(buf_text(&role), "\r\n"),
                       buf_text(&role));
        result = ask_metadata(base, path, "GET", with, buf_text(&token), &text, err);
    }
    if (result == 0)
        result = credentials_parse(buf_text(&text), text.size, &s->current, err);
    wipe(&token);
    wipe(&text);
    buf_done(&role);
    return result;
}

/* Tries the sources in order. The error of the last one, wrapped in what is missing, is one of
 * configuration: no repetition of the job without a change would help. */
static int find(struct credential_source *s, struct error *err) {
    char url[1024];
    const char *relative = get(s, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = get(s, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
    const char *disabled = get(s, "AWS_EC2_METADATA_DISABLED");
    if (get(s, "AWS_ACCESS_KEY_ID") != NULL || get(s, "AWS_SECRET_ACCESS_KEY") != NULL)
        return from_environment(s, err);
    if (relative != NULL) {
        (void)snprintf(url, sizeof(url), "http://169.254.170.2%s", relative);
        return from_container(s, url, err);
    }
    if (full != NULL)
        return from_container(s, full, err);
    if (disabled == NULL || strcasecmp(disabled, "true") != 0) {
        if (from_metadata(s, err) == 0)
            return 0;
    } else {
        (void)error_set(err, EXIT_CODE_CONFIG, "AWS_EC2_METADATA_DISABLED is set");
    }
    (void)error_recode(err, EXIT_CODE_CONFIG); /* the data is not at fault */
    return error_wrap(err, "no AWS credentials: neither AWS_ACCESS_KEY_ID nor "
                           "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI is set, and "
                           "the instance has none");
}

static bool are_same(const struct credentials *a, const struct credentials *b) {
    return strcmp(a->id, b->id) == 0 && strcmp(a->secret, b->secret) == 0 &&
           strcmp(a->token, b->token) == 0;
}

/* RENEW asks the source even though the credentials look valid. The serial number changes only with
 * their value, so s3.c can tell whether the source had anything new. */
int credentials_get(struct credential_source *s, int64_t now, bool renew,
                    const struct credentials **ret, struct error *err) {
    int64_t until = s->current.expires;
    bool fresh = s->have && (until == 0 || now < until - CREDENTIALS_EARLY_SECONDS);
    *ret = &s->current;
    if (fresh && !renew)
        return 0;
    const struct credentials before = s->current;
    if (find(s, err) == 0) {
        s->serial += !s->have || !are_same(&before, &s->current);
        s->have = true;
        return 0;
    }
    s->current = before;
    /* Credentials that are still valid are used while their source is unavailable. */
    return s->have && !renew && now < until ? 0 : -1;
}
