/* AWS Signature Version 4: headers that authenticate a request. Pure: no clock, no network, no
 * environment.
 *
 * What is signed is byte for byte what is sent: the path is encoded once and otherwise unchanged
 * (S3's rule; other services encode it twice and remove "." and ".."). */
#ifndef ENTRYPOINT_TRANSFER_S3_SIGV4_H
#define ENTRYPOINT_TRANSFER_S3_SIGV4_H

#include "common/argv.h"
#include "common/error.h"

#include <stdint.h>

enum { SIGV4_ID_MAX = 256, SIGV4_SECRET_MAX = 512, SIGV4_TOKEN_MAX = 16 * 1024 };

/* Temporary ones have a token. Wiped by credentials_done (credentials.h). */
struct credentials {
    char id[SIGV4_ID_MAX];
    char secret[SIGV4_SECRET_MAX];
    char token[SIGV4_TOKEN_MAX]; /* "": none */
    int64_t expires;             /* seconds since 1970; 0: never */
};

struct sigv4_request {
    const char *method;
    const char *host;    /* as in the Host header: with the port where the address has one */
    const char *path;    /* encoded (http/percent.h), beginning with '/' */
    const char *query;   /* encoded and in order (http/percent.h); "" for none */
    const char *payload; /* SHA-256 of the body as digits, or SIGV4_UNSIGNED */
    const char *region;
    const char *service; /* SIGV4_S3, or another one that takes signatures */
};

#define SIGV4_S3 "s3"

/* A body without its digest in the signature: TLS protects it; without TLS the digest is
 * signed. */
#define SIGV4_UNSIGNED "UNSIGNED-PAYLOAD"
/* The digest of no body. */
#define SIGV4_EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* HEADERS are the request's other lines "name: value", names in lower case, no blanks around
 * values. All are signed, and x-amz-date, x-amz-security-token, authorization and, for S3 only,
 * x-amz-content-sha256 are added. NOW is in seconds since 1970. */
int sigv4_sign(const struct sigv4_request *request, const struct credentials *credentials,
               int64_t now, struct argv *headers, struct error *err);

#endif
