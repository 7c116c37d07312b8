#include "entrypoint/transfer/disk/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

static int fail(struct error *err) {
    return error_set(err, EXIT_CODE_INTERNAL, "OpenSSL cannot make a digest");
}

void digest_hex(const unsigned char *bytes, size_t size, char *ret) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        *ret++ = digits[bytes[i] >> 4];
        *ret++ = digits[bytes[i] & 15];
    }
    *ret = '\0';
}

int digest_sha256(const void *bytes, size_t size, unsigned char ret[DIGEST_SHA256],
                  struct error *err) {
    return EVP_Digest(bytes, size, ret, NULL, EVP_sha256(), NULL) == 1 ? 0 : fail(err);
}

int digest_hmac(const void *key, size_t key_size, const char *text,
                unsigned char ret[DIGEST_SHA256], struct error *err) {
    return HMAC(EVP_sha256(), key, (int)key_size, (const unsigned char *)text, strlen(text), ret,
                NULL) != NULL
               ? 0
               : fail(err);
}

void digest_done(struct digest *d) {
    EVP_MD_CTX_free(d->context);
    d->context = NULL;
}

int digest_begin(struct digest *d, enum digest_kind kind, struct error *err) {
    if (d->context == NULL)
        d->context = EVP_MD_CTX_new();
    const EVP_MD *type = kind == DIGEST_OF_MD5 ? EVP_md5() : EVP_sha256();
    return d->context != NULL && EVP_DigestInit_ex(d->context, type, NULL) == 1 ? 0 : fail(err);
}

int digest_add(struct digest *d, const void *bytes, size_t size, struct error *err) {
    return EVP_DigestUpdate(d->context, bytes, size) == 1 ? 0 : fail(err);
}

static int finish(struct digest *d, unsigned char ret[DIGEST_SHA256], unsigned *ret_size,
                  struct error *err) {
    unsigned char bytes[EVP_MAX_MD_SIZE];
    if (EVP_DigestFinal_ex(d->context, bytes, ret_size) != 1 || *ret_size > DIGEST_SHA256)
        return fail(err);
    memcpy(ret, bytes, *ret_size);
    return 0;
}

int digest_finish(struct digest *d, unsigned char ret[DIGEST_SHA256], struct error *err) {
    unsigned size = 0;
    return finish(d, ret, &size, err);
}

int digest_end(struct digest *d, char ret[DIGEST_HEX_MAX], struct error *err) {
    unsigned char bytes[DIGEST_SHA256];
    unsigned size = 0;
    if (finish(d, bytes, &size, err) != 0)
        return -1;
    digest_hex(bytes, size, ret);
    return 0;
}

bool digest_given_differs(const char *given, const char own[DIGEST_HEX_MAX]) {
    enum { BASE64_SIZE = 44 };
    unsigned char raw[DIGEST_SHA256 + 1];
    char hex[DIGEST_HEX_MAX];
    if (strlen(given) != BASE64_SIZE || strchr(given, '-') != NULL ||
        EVP_DecodeBlock(raw, (const unsigned char *)given, BASE64_SIZE) != DIGEST_SHA256 + 1)
        return false;
    digest_hex(raw, DIGEST_SHA256, hex);
    return strcmp(hex, own) != 0;
}
