/* A source with one large object, which misbehaves by its name; what is asked of it is counted. */
#ifndef TESTS_UNIT_ENTRYPOINT_TRANSFER_LARGE_STAGE_H
#define TESTS_UNIT_ENTRYPOINT_TRANSFER_LARGE_STAGE_H

#include "common/argv.h"
#include "entrypoint/transfer/disk/digest.h"
#include "entrypoint/transfer/fetch/ranges.h"
#include "tests/support/http_server.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE_SIZE = 66 * 1024 * 1024 + 3, LARGE_LIMP = 6 * 1024 * 1024 };

/* What the server counts. */
enum { LARGE_HEADS, LARGE_PARTS, LARGE_WHOLES, LARGE_MIB, LARGE_UNCONDITIONAL };

static char large_content[LARGE_SIZE];
static char large_md5[DIGEST_HEX_MAX];
static struct http_server large_server;

static inline void large_head(struct http_call *call, int status, size_t size, const char *etag,
                              const char *range) {
    char text[512];
    int length =
        snprintf(text, sizeof(text), "HTTP/1.1 %d x\r\nContent-Length: %zu\r\n%s%s\r\n%s\r\n",
                 status, size, etag[0] != '\0' ? "ETag: " : "X: ", etag, range);
    http_write(call, text, (size_t)length);
}

/* In one chunk, after which the empty last chunk does not come. */
static inline void large_break(struct http_call *call, const char *etag, const char *range,
                               const char *bytes, size_t size) {
    char text[512];
    int length =
        snprintf(text, sizeof(text),
                 "HTTP/1.1 206 x\r\nTransfer-Encoding: chunked\r\nETag: %s\r\n%s\r\n%zx\r\n", etag,
                 range, size);
    http_write(call, text, (size_t)length);
    http_write(call, bytes, size);
    http_write(call, "\r\n", 2);
}

static inline void large_part(struct http_call *call, const char *etag, const char *key) {
    const char *range = http_header(call, "range");
    char line[128];
    char *dash = NULL;
    size_t first = (size_t)strtoull(range + strlen("bytes="), &dash, 10);
    size_t last = (size_t)strtoull(dash + 1, NULL, 10);
    size_t size = last - first + 1;
    unsigned number = atomic_fetch_add(&call->shared->counters[LARGE_PARTS], 1);
    if (http_header(call, "if-match")[0] == '\0')
        (void)atomic_fetch_add(&call->shared->counters[LARGE_UNCONDITIONAL], 1);
    if (strcmp(key, "changes") == 0 && first > 0) {
        http_reply_text(call, 412, "");
        return;
    }
    if ((strcmp(key, "beyond") == 0 && first > 0) || last < first) {
        http_reply_text(call, 416, "");
        return;
    }
    if (strcmp(key, "mixes") == 0 && first > 0)
        etag = "\"another\"";
    if (strcmp(key, "nameless") == 0)
        etag = "";
    (void)snprintf(line, sizeof(line), "Content-Range: bytes %zu-%zu/%d\r\n",
                   strcmp(key, "shifts") == 0 ? first + 1 : first, last, LARGE_SIZE);
    if (strcmp(key, "breaks-ever") == 0 || (strcmp(key, "breaks") == 0 && number == 0)) {
        large_break(call, etag, line, large_content + first, size);
        return;
    }
    large_head(call, 206, size, etag, line);
    if (strcmp(key, "cut") == 0 && number == 0)
        size = 2 * 1024 * 1024;
    if (strcmp(key, "limps") == 0 && size > LARGE_LIMP)
        size = LARGE_LIMP;
    if (strcmp(key, "ends") == 0 && first >= 2 * (size_t)PART_FILE_PIECE)
        size = 1024;
    (void)atomic_fetch_add(&call->shared->counters[LARGE_MIB], (unsigned)(size >> 20));
    http_write(call, large_content + first, size);
}

static inline void large_answer(struct http_call *call) {
    const char *key = strrchr(call->target, '/') + 1;
    char strong[80];
    (void)snprintf(strong, sizeof(strong), "\"%s\"",
                   strcmp(key, "lies") == 0 ? "00000000000000000000000000000000" : large_md5);
    const char *etag = strcmp(key, "weak") == 0 ? "W/\"weak\"" : strong;
    if (strcmp(call->method, "HEAD") == 0) {
        (void)atomic_fetch_add(&call->shared->counters[LARGE_HEADS], 1);
        if (strcmp(key, "headless") == 0)
            http_reply_text(call, 405, "");
        else
            large_head(call, 200, strcmp(key, "small") == 0 ? 100 : LARGE_SIZE, etag, "");
    } else if (http_header(call, "range")[0] != '\0' && strcmp(key, "streams") != 0) {
        large_part(call, etag, key);
    } else {
        (void)atomic_fetch_add(&call->shared->counters[LARGE_WHOLES], 1);
        large_head(call, 200, LARGE_SIZE, etag, "");
        http_write(call, large_content, LARGE_SIZE);
    }
}

static inline void large_open(void) {
    struct digest d = {0};
    for (size_t i = 0; i < LARGE_SIZE; i++)
        large_content[i] = (char)(i * 2654435761u >> 20);
    CU_ASSERT_EQUAL(digest_begin(&d, DIGEST_OF_MD5, NULL), 0);
    CU_ASSERT_EQUAL(digest_add(&d, large_content, LARGE_SIZE, NULL), 0);
    CU_ASSERT_EQUAL(digest_end(&d, large_md5, NULL), 0);
    digest_done(&d);
    http_server_start(&large_server, large_answer);
}

static inline unsigned large_count(int which) {
    return atomic_load(&large_server.shared->counters[which]);
}

static inline void large_forget(void) {
    for (int i = 0; i < HTTP_COUNTERS; i++)
        atomic_store(&large_server.shared->counters[i], 0);
}

static inline bool large_is_whole(int root, const char *name) {
    static char block[1 << 20];
    int fd = openat(root, name, O_RDONLY | O_CLOEXEC);
    size_t at = 0;
    for (ssize_t got = 1; fd >= 0 && got > 0; at += (size_t)got) {
        got = read(fd, block, sizeof(block));
        if (got > 0 &&
            (at + (size_t)got > LARGE_SIZE || memcmp(block, large_content + at, (size_t)got) != 0))
            break;
    }
    if (fd >= 0)
        (void)close(fd);
    return at == LARGE_SIZE;
}

static inline void large_s3(struct argv *environment, struct s3 *ret) {
    char url[64];
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", large_server.port);
    CU_ASSERT_EQUAL(argv_set_env(environment, "AWS_ENDPOINT_URL_S3", url, NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(environment, "AWS_ACCESS_KEY_ID", "AKID", NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(environment, "AWS_SECRET_ACCESS_KEY", "hush-hush", NULL), 0);
    CU_ASSERT_EQUAL(s3_open(ret, environment, NULL), 0);
}

#endif
