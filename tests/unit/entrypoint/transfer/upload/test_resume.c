#include "entrypoint/transfer/upload/resume.h"

#include "common/cleanup.h"
#include "entrypoint/transfer/s3/etag.h"
#include "tests/unit/entrypoint/transfer/s3_stage.h"

static struct s3_stage stage;
static char first[ETAG_MAX]; /* the ETag of the file's first part */
static char last[ETAG_MAX];

/* Lists parts on two pages: the first part, as the key says, and the third, which is shorter. */
static void answer(struct http_call *call) {
    char text[1024];
    bool wrong = strstr(call->target, "/wrong?") != NULL;
    bool short_one = strstr(call->target, "/short?") != NULL;
    if (strstr(call->target, "uploads=") != NULL && strstr(call->target, "prefix=none") != NULL)
        http_reply_text(call, 403, "");
    else if (strstr(call->target, "uploads=") != NULL)
        http_reply_text(call, 200,
                        "<ListMultipartUploadsResult><Upload><Key>in/a</Key><UploadId>1</UploadId>"
                        "</Upload></ListMultipartUploadsResult>");
    else if (strstr(call->target, "/gone?") != NULL)
        http_reply_text(call, 404, "<Error><Code>NoSuchUpload</Code></Error>");
    else if (strstr(call->target, "part-number-marker=1") != NULL) {
        (void)snprintf(text, sizeof(text),
                       "<ListPartsResult><IsTruncated>%s</IsTruncated>"
                       "<NextPartNumberMarker>1</NextPartNumberMarker>"
                       "<Part><PartNumber>3</PartNumber><ETag>\"%s\"</ETag><Size>3</Size></Part>"
                       "<Part><PartNumber>9999</PartNumber><ETag>\"%s\"</ETag><Size>3</Size></Part>"
                       "</ListPartsResult>",
                       strstr(call->target, "/circle?") != NULL ? "true" : "false", last, last);
        http_reply_text(call, 200, text);
    } else {
        (void)snprintf(
            text, sizeof(text),
            "<ListPartsResult><IsTruncated>true</IsTruncated>"
            "<NextPartNumberMarker>1</NextPartNumberMarker>"
            "<Part><PartNumber>1</PartNumber><ETag>&quot;%s&quot;</ETag><Size>%lld</Size>"
            "</Part></ListPartsResult>",
            wrong ? last : first, (long long)ETAG_PART - short_one);
        http_reply_text(call, 200, text);
    }
}

static unsigned parts_of(const char *key, unsigned most, struct resume_part parts[3]) {
    const struct resume u = {.s3 = &stage.s3, .bucket = "bucket", .name = key, .seconds = 60};
    int64_t size = 2 * ETAG_PART + 3;
    cleanup_fd int fd = s3_stage_file("file", (size_t)size, 'a');
    memset(parts, 0, 3 * sizeof(*parts));
    return resume_parts(&u, key, "id", fd, size, parts, 3, most);
}

static void parts_that_are_the_files_are_known(void) {
    struct resume_part parts[3];
    unsigned char raw[DIGEST_SHA256];
    char hex[DIGEST_HEX_MAX];
    CU_ASSERT_EQUAL(parts_of("good", 3, parts), 2);
    CU_ASSERT_TRUE(parts[0].there && !parts[1].there && parts[2].there);
    CU_ASSERT_STRING_EQUAL(parts[0].etag, first);
    memcpy(raw, parts[2].md5, DIGEST_MD5);
    digest_hex(raw, DIGEST_MD5, hex);
    CU_ASSERT_STRING_EQUAL(hex, last);
    CU_ASSERT_EQUAL(parts_of("good", 1, parts), 1);
    CU_ASSERT_EQUAL(parts_of("circle", 3, parts), 2);
}

static void others_are_not(void) {
    static const char *const keys[] = {"wrong", "short", "gone"};
    struct resume_part parts[3];
    for (size_t i = 0; i < 3; i++) {
        stage.server.shared->requests = 0;
        CU_ASSERT_EQUAL(parts_of(keys[i], 3, parts), 0);
        CU_ASSERT_FALSE(parts[0].there || parts[1].there || parts[2].there);
        CU_ASSERT_EQUAL(stage.server.shared->requests, 1); /* the first part decides */
    }
}

static void a_list_may_be_refused(void) {
    const struct resume u = {.s3 = &stage.s3, .bucket = "bucket", .name = "it", .seconds = 60};
    struct xml_fields_uploads left;
    CU_ASSERT_EQUAL(resume_list(&u, "in/", &left, NULL), 0);
    CU_ASSERT_EQUAL(left.count, 1);
    xml_fields_uploads_done(&left);
    CU_ASSERT_EQUAL(resume_list(&u, "none", &left, NULL), -1);
    CU_ASSERT_EQUAL(left.count, 0);
}

static void all(void) {
    cleanup_fd int fd = s3_stage_file("whole", (size_t)ETAG_PART + 3, 'a');
    CU_ASSERT_EQUAL(etag_of_file(fd, ETAG_PART, 0, first, NULL), 0);
    CU_ASSERT_EQUAL(etag_of_file(fd, 3, 0, last, NULL), 0);
    s3_stage_open(&stage, answer);
    parts_that_are_the_files_are_known();
    others_are_not();
    a_list_may_be_refused();
    s3_stage_close(&stage);
}

UNIT_SUITE("transfer.resume", UNIT(all))
