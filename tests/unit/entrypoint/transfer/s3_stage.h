/* Test server in place of S3, and what its clients need. */
#ifndef TESTS_UNIT_ENTRYPOINT_TRANSFER_S3_STAGE_H
#define TESTS_UNIT_ENTRYPOINT_TRANSFER_S3_STAGE_H

#include "common/clock.h"
#include "entrypoint/transfer/s3/s3.h"
#include "tests/support/http_server.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct s3_stage {
    struct http_server server;
    struct argv environment;
    struct s3 s3;
};

static inline void s3_stage_open(struct s3_stage *s, void (*answer)(struct http_call *call)) {
    char url[128];
    *s = (struct s3_stage){0};
    http_server_start(&s->server, answer);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", s->server.port);
    CU_ASSERT_EQUAL(argv_set_env(&s->environment, "AWS_ENDPOINT_URL_S3", url, NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(&s->environment, "AWS_ACCESS_KEY_ID", "AKID", NULL), 0);
    CU_ASSERT_EQUAL(argv_set_env(&s->environment, "AWS_SECRET_ACCESS_KEY", "hush-hush", NULL), 0);
    CU_ASSERT_EQUAL(s3_open(&s->s3, &s->environment, NULL), 0);
}

static inline void s3_stage_close(struct s3_stage *s) {
    s3_close(&s->s3);
    argv_done(&s->environment);
    http_server_stop(&s->server);
}

/* Returns how many of the first HTTP_KEPT_MAX requests began with BEGIN. */
static inline unsigned s3_stage_count(const struct s3_stage *s, const char *begin) {
    unsigned count = 0;
    for (unsigned i = 0; i < s->server.shared->requests && i < HTTP_KEPT_MAX; i++)
        count += strncmp(s->server.shared->targets[i], begin, strlen(begin)) == 0;
    return count;
}

/* Creates and opens a file of SIZE times BYTE in the test's folder. */
static inline int s3_stage_file(const char *name, size_t size, char byte) {
    static char block[1 << 16];
    char path[1024];
    (void)snprintf(path, sizeof(path), "%s/%s", unit_temp_dir(), name);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    memset(block, byte, sizeof(block));
    for (size_t at = 0; at < size; at += sizeof(block)) {
        size_t part = size - at < sizeof(block) ? size - at : sizeof(block);
        CU_ASSERT_EQUAL(write(fd, block, part), (ssize_t)part);
    }
    return fd;
}

#endif
