#include "entrypoint/transfer/s3/address.h"

#include "common/str.h"

#include <stdlib.h>
#include <string.h>

void address_done(struct address *a) {
    free(a->text);
    free(a->shown);
    free(a->bucket);
    *a = (struct address){0};
}

static int parse_s3(struct address *a, struct error *err) {
    static const char bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    const char *bucket = a->text + strlen("s3://");
    size_t size = strcspn(bucket, "/");
    if (size < 3 || size >= ADDRESS_BUCKET_MAX || strspn(bucket, bytes) < size)
        return error_set(err, EXIT_CODE_CONFIG, "%.256s: not a valid bucket name", a->shown);
    a->kind = ADDRESS_S3;
    a->bucket = strndup(bucket, size);
    a->rest = bucket + size + (bucket[size] == '/');
    if (a->bucket == NULL)
        return error_no_memory(err, "an address");
    if (strlen(a->rest) > ADDRESS_KEY_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "%.256s: a key of more than %d bytes", a->shown,
                         ADDRESS_KEY_MAX);
    return 0;
}

static bool is_here(const char *host, size_t size) {
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    size_t port = size > 0 && host[0] != '[' ? strcspn(host, ":") : strcspn(host, "]") + 1;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i]) == (port < size ? port : size) &&
            memcmp(host, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static int parse_http(struct address *a, bool plain, struct error *err) {
    const char *host = strstr(a->text, "://") + 3;
    size_t size = strcspn(host, "/?#");
    if (size == 0 || memchr(host, '@', size) != NULL)
        return error_set(err, EXIT_CODE_CONFIG,
                         "https://...: an address needs a host and may not contain a user or "
                         "password, because addresses are logged");
    if (str_starts_with(a->text, "http:") && !plain && !is_here(host, size))
        return error_set(err, EXIT_CODE_CONFIG,
                         "%.256s: http:// is only permitted for this machine; use https://",
                         a->shown);
    a->kind = ADDRESS_HTTP;
    a->rest = host + size;
    return 0;
}

static int parse_folder(struct address *a, enum address_kind kind, const char *scheme,
                        struct error *err) {
    a->kind = kind;
    a->rest = a->text + strlen(scheme);
    if (a->rest[0] != '/')
        return error_set(err, EXIT_CODE_CONFIG, "%.256s: %s needs an absolute path, %s/...",
                         a->shown, scheme, scheme);
    return 0;
}

static int parse(struct address *a, bool plain, struct error *err) {
    for (const char *c = a->text; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return error_set(err, EXIT_CODE_CONFIG, "an address contains a control character");
    if (str_starts_with(a->text, "s3://"))
        return parse_s3(a, err);
    if (str_starts_with(a->text, "https://") || str_starts_with(a->text, "http://"))
        return parse_http(a, plain, err);
    if (str_starts_with(a->text, "file://"))
        return parse_folder(a, ADDRESS_FILE, "file://", err);
    if (str_starts_with(a->text, "first://"))
        return parse_folder(a, ADDRESS_FIRST, "first://", err);
    return error_set(err, EXIT_CODE_CONFIG, "%.256s: neither s3://, https:// nor file://",
                     a->shown);
}

static int parse_any(const char *text, bool plain, struct address *ret, struct error *err) {
    *ret = (struct address){0};
    if (strlen(text) > ADDRESS_MAX)
        return error_set(err, EXIT_CODE_CONFIG, "an address of more than %d bytes", ADDRESS_MAX);
    bool is_key = str_starts_with(text, "s3://") || str_starts_with(text, "file://") ||
                  str_starts_with(text, "first://");
    ret->text = strdup(text);
    ret->shown = is_key ? strdup(text) : strndup(text, strcspn(text, "?#"));
    if (ret->text == NULL || ret->shown == NULL) {
        address_done(ret);
        return error_no_memory(err, "an address");
    }
    if (parse(ret, plain, err) == 0)
        return 0;
    address_done(ret);
    return -1;
}

int address_parse(const char *text, struct address *ret, struct error *err) {
    return parse_any(text, false, ret, err);
}

int address_parse_web(const char *text, bool plain, struct address *ret, struct error *err) {
    if (parse_any(text, plain, ret, err) != 0)
        return -1;
    if (ret->kind == ADDRESS_HTTP && (plain || str_starts_with(text, "https:")))
        return 0;
    (void)error_set(err, EXIT_CODE_CONFIG, "%.256s: expected an address of https://", ret->shown);
    address_done(ret);
    return -1;
}

const char *address_name(const struct address *a) {
    const char *end = strrchr(a->shown, '/');
    return end != NULL && a->rest[0] != '\0' ? end + 1 : "";
}
