#include "common/cleanup.h"
#include "entrypoint/transfer/s3/etag.h"
#include "entrypoint/transfer/upload/multipart.h"
#include "tests/unit/entrypoint/transfer/s3_stage.h"

#include <sys/stat.h>

/* The events that the server counts. */
enum { TRIED, COMPLETED, GIVEN_UP };

static struct s3_stage stage;
static char whole[ETAG_MAX]; /* the ETag of the complete object */
static char parts[2][ETAG_MAX];
static size_t size;

static void reply_etag(struct http_call *call, const char *etag) {
    char headers[256];
    (void)snprintf(headers, sizeof(headers), "ETag: \"%s\"\r\n", etag);
    http_reply(call, 200, headers, "", 0);
}

/* The file has two parts, of 16 MiB and of three bytes. */
static void take_part(struct http_call *call) {
    bool last = strstr(call->target, "partNumber=2") != NULL;
    if (strstr(call->target, "/busy") != NULL && last &&
        atomic_fetch_add(&call->shared->counters[TRIED], 1) == 0)
        http_reply_text(call, 503, "");
    else if (strstr(call->target, "/refused") != NULL && last)
        http_reply_text(call, 403, "");
    else if (strstr(call->target, "/once") != NULL && last &&
             atomic_fetch_add(&call->shared->counters[TRIED], 1) == 0)
        reply_etag(call, parts[0]); /* the other part's ETag */
    else if (strstr(call->target, "/cut") != NULL && last &&
             atomic_fetch_add(&call->shared->counters[TRIED], 1) == 0)
        return; /* without a response */
    else if (strstr(call->target, "/moved") != NULL && last)
        http_reply(call, 307, "Location: /bucket/good\r\n", "", 0);
    else if (strstr(call->target, "/gone") != NULL && last)
        http_reply_text(call, 404, "<Error><Code>NoSuchUpload</Code></Error>");
    else
        reply_etag(call, parts[last]);
}

static void complete(struct http_call *call) {
    char text[512];
    bool told = strstr(call->body, "<Part><PartNumber>1</PartNumber><ETag>\"") != NULL &&
                strstr(call->body, "<PartNumber>2</PartNumber>") != NULL;
    const char *etag =
        strstr(call->target, "/wrong") != NULL ? "00000000000000000000000000000000-2" : whole;
    (void)snprintf(text, sizeof(text),
                   "<CompleteMultipartUploadResult><ETag>&quot;%s&quot;</ETag>"
                   "</CompleteMultipartUploadResult>",
                   etag);
    atomic_fetch_add(&call->shared->counters[COMPLETED], told);
    if (!told)
        http_reply_text(call, 418, "");
    else if (strstr(call->target, "/late") != NULL || strstr(call->target, "/lost") != NULL)
        http_reply_text(call, 200, "<Error><Code>InternalError</Code></Error>");
    else
        http_reply_text(call, 200, text);
}

static void head(struct http_call *call) {
    char text[512];
    int length = snprintf(text, sizeof(text),
                          "HTTP/1.1 200 OK\r\nETag: \"%s\"\r\nContent-Length: %zu\r\n\r\n",
                          strstr(call->target, "/late") != NULL ? whole : "other", size);
    http_write(call, text, (size_t)length);
}

static void list_part(struct http_call *call, unsigned number, const char *etag, long long length) {
    char text[512];
    (void)snprintf(text, sizeof(text),
                   "<ListPartsResult><IsTruncated>false</IsTruncated><Part><PartNumber>%u"
                   "</PartNumber><ETag>\"%s\"</ETag><Size>%lld</Size></Part></ListPartsResult>",
                   number, etag, length);
    http_reply_text(call, 200, text);
}

static void answer(struct http_call *call) {
    if (strcmp(call->method, "PUT") == 0) {
        take_part(call);
    } else if (strcmp(call->method, "HEAD") == 0) {
        head(call);
    } else if (strcmp(call->method, "DELETE") == 0) {
        atomic_fetch_add(&call->shared->counters[GIVEN_UP], 1);
        if (strstr(call->target, "/tidied/") != NULL)
            http_reply_text(call, 404, "<Error><Code>NoSuchUpload</Code></Error>");
        else if (strstr(call->target, "/removed/") != NULL)
            http_reply_text(call, 404, "<Error><Code>NoSuchBucket</Code></Error>");
        else
            http_reply(call, 204, "", "", 0);
    } else if (strstr(call->target, "prefix=left") != NULL ||
               strstr(call->target, "prefix=&") != NULL) {
        http_reply_text(call, 200,
                        "<ListMultipartUploadsResult><Upload><Key>left</Key><UploadId>other"
                        "</UploadId></Upload><Upload><Key>left</Key><UploadId>old</UploadId>"
                        "</Upload></ListMultipartUploadsResult>");
    } else if (strstr(call->target, "uploadId=old") != NULL && strcmp(call->method, "GET") == 0) {
        list_part(call, 1, parts[0], (long long)ETAG_PART);
    } else if (strstr(call->target, "uploadId=") != NULL && strcmp(call->method, "GET") == 0) {
        list_part(call, 1, parts[1], 3);
    } else if (strcmp(call->method, "GET") == 0) {
        http_reply_text(call, 200,
                        "<ListMultipartUploadsResult><Upload><Key>in/a</Key><UploadId>1</UploadId>"
                        "</Upload><Upload><Key>other</Key><UploadId>2</UploadId></Upload>"
                        "</ListMultipartUploadsResult>");
    } else if (strstr(call->target, "uploads=") == NULL) {
        complete(call);
    } else if (strstr(call->target, "/closed") != NULL) {
        http_reply_text(call, 403, "");
    } else if (strstr(call->target, "/endless") != NULL) {
        static const char head[] = "HTTP/1.1 200 Said\r\n\r\n";
        static const char space[4096] = "<InitiateMultipartUploadResult>";
        http_write(call, head, sizeof(head) - 1);
        for (int i = 0; i < 1 << 14; i++)
            http_write(call, space, sizeof(space));
    } else {
        http_reply_text(call, 200,
                        "<InitiateMultipartUploadResult><UploadId>id</UploadId>"
                        "</InitiateMultipartUploadResult>");
    }
}

static int send_file(const char *key, int (*check)(void *context, struct error *err),
                     struct error *err) {
    int64_t sent = 0;
    size = (size_t)ETAG_PART + 3;
    cleanup_fd int fd = s3_stage_file("file", size, 'a');
    const struct multipart_order order = {.s3 = &stage.s3,
                                          .bucket = "bucket",
                                          .key = key,
                                          .name = key,
                                          .fd = fd,
                                          .size = (int64_t)size,
                                          .deadline = clock_now() + 100 * CLOCK_SECOND,
                                          .check = check,
                                          .sent = &sent};
    for (int i = TRIED; i <= GIVEN_UP; i++)
        stage.server.shared->counters[i] = 0;
    int result = multipart_send(&order, err);
    CU_ASSERT(result != 0 || sent == (int64_t)size);
    return result;
}

static void expect(const char *key, unsigned completed, unsigned given_up, const char *words) {
    struct error err = {0};
    CU_ASSERT_EQUAL(send_file(key, NULL, &err), words[0] == '\0' ? 0 : -1);
    ASSERT_CONTAINS(err.text, words);
    CU_ASSERT_EQUAL(stage.server.shared->counters[COMPLETED], completed);
    CU_ASSERT_EQUAL(stage.server.shared->counters[GIVEN_UP], given_up);
}

static int has_changed(void *context, struct error *err) {
    (void)context;
    return error_set(err, EXIT_CODE_DATA, "it has changed");
}

static void a_target_is_tried_and_tidied(void) {
    struct address to;
    struct error err = {0};
    CU_ASSERT_EQUAL(address_parse("s3://bucket/in", &to, NULL), 0);
    CU_ASSERT_EQUAL(multipart_probe(&stage.s3, &to, NULL), 0);
    stage.server.shared->counters[GIVEN_UP] = 0;
    CU_ASSERT_EQUAL(multipart_tidy(&stage.s3, &to, NULL, NULL), 1); /* other uploads stay */
    CU_ASSERT_EQUAL(stage.server.shared->counters[GIVEN_UP], 1);
    address_done(&to);
    CU_ASSERT_EQUAL(address_parse("s3://bucket/closed/", &to, NULL), 0);
    CU_ASSERT_EQUAL(multipart_probe(&stage.s3, &to, &err), -1);
    ASSERT_CONTAINS(err.text, "s3://bucket/closed/: the server answers 403");
    address_done(&to);
}

/* Another host may abort the trial upload before it is completed; if more is missing than that
 * upload, it is an error. */
static void a_try_may_be_given_up_by_others(void) {
    struct address to;
    struct error err = {0};
    CU_ASSERT_EQUAL(address_parse("s3://bucket/tidied/", &to, NULL), 0);
    CU_ASSERT_EQUAL(multipart_probe(&stage.s3, &to, &err), 0);
    CU_ASSERT_EQUAL(err.code, 0);
    address_done(&to);
    CU_ASSERT_EQUAL(address_parse("s3://bucket/removed/", &to, NULL), 0);
    CU_ASSERT_EQUAL(multipart_probe(&stage.s3, &to, &err), -1);
    ASSERT_CONTAINS(err.text, "the server answers 404 NoSuchBucket");
    address_done(&to);
}

/* A killed start has left an upload: only its second part is sent, and it is completed. */
static void what_a_killed_start_has_sent_is_not_sent_again(void) {
    stage.server.shared->requests = 0;
    expect("left", 1, 0, "");
    CU_ASSERT_EQUAL(s3_stage_count(&stage, "PUT "), 1);
    CU_ASSERT_EQUAL(s3_stage_count(&stage, "PUT /bucket/left?partNumber=2&uploadId=old"), 1);
    CU_ASSERT_EQUAL(s3_stage_count(&stage, "POST /bucket/left?uploadId=old"), 1);
    CU_ASSERT_EQUAL(s3_stage_count(&stage, "POST "), 1); /* no upload was begun */
}

/* This holds if the file is still the one that was being sent; the parts of another one are given
 * up. */
static void what_can_be_gone_on_with_is_not_given_up(void) {
    struct address to;
    char folder[1024];
    char path[1100];
    CU_ASSERT_EQUAL(address_parse("s3://bucket/", &to, NULL), 0);
    (void)snprintf(folder, sizeof(folder), "%s/tidied", unit_temp_dir());
    (void)snprintf(path, sizeof(path), "%s/left", folder);
    CU_ASSERT_EQUAL(mkdir(folder, 0755), 0);
    stage.server.shared->counters[GIVEN_UP] = 0;
    stage.server.shared->requests = 0;
    CU_ASSERT_EQUAL(multipart_tidy(&stage.s3, &to, folder, NULL), 2); /* there is no such file */
    close(s3_stage_file("tidied/left", (size_t)ETAG_PART + 3, 'b'));
    CU_ASSERT_EQUAL(multipart_tidy(&stage.s3, &to, folder, NULL), 2); /* it has changed */
    CU_ASSERT_EQUAL(unlink(path), 0);
    close(s3_stage_file("tidied/left", (size_t)ETAG_PART + 3, 'a'));
    stage.server.shared->requests = 0;
    CU_ASSERT_EQUAL(multipart_tidy(&stage.s3, &to, folder, NULL), 1);
    CU_ASSERT_EQUAL(s3_stage_count(&stage, "DELETE /bucket/left?uploadId=other"), 1);
    address_done(&to);
}

static void all(void) {
    struct error err = {0};
    cleanup_fd int fd = s3_stage_file("whole", (size_t)ETAG_PART + 3, 'a');
    CU_ASSERT_EQUAL(etag_of_file(fd, ETAG_PART + 3, ETAG_PART, whole, NULL), 0);
    CU_ASSERT_EQUAL(etag_of_file(fd, ETAG_PART, 0, parts[0], NULL), 0);
    CU_ASSERT_EQUAL(etag_of_file(fd, 3, 0, parts[1], NULL), 0);
    size = (size_t)ETAG_PART + 3;
    s3_stage_open(&stage, answer);
    expect("good", 1, 0, "");
    expect("busy", 1, 0, "");
    expect("late", 1, 0, "");
    expect("lost", 1, 2, "is a Error without ETag");
    expect("wrong", 1, 2, "does not match its parts");
    expect("refused", 0, 2, "the server answers 403");
    expect("closed", 0, 0, "the server answers 403");
    expect("once", 1, 0, "");
    expect("cut", 1, 0, "");
    expect("moved", 0, 2, "the server answers 307");
    expect("gone", 0, 2, "the server answers 404 NoSuchUpload");
    expect("endless", 0, 0, "bytes");
    CU_ASSERT_EQUAL(send_file("changes", has_changed, &err), -1);
    ASSERT_CONTAINS(err.text, "it has changed");
    CU_ASSERT_EQUAL(stage.server.shared->counters[COMPLETED], 0);
    CU_ASSERT_EQUAL(stage.server.shared->counters[GIVEN_UP], 2);
    a_target_is_tried_and_tidied();
    a_try_may_be_given_up_by_others();
    what_a_killed_start_has_sent_is_not_sent_again();
    what_can_be_gone_on_with_is_not_given_up();
    s3_stage_close(&stage);
}

UNIT_SUITE("transfer.multipart", UNIT(all))
