/* What the transfer program reads, its order, servers' answers, credentials, addresses, where the
 * allocation number N fails, for every N (support/no_memory_rows.h). What a host asks another one
 * for (peers/peer_request.h) allocates nothing. */
#include "common/text/redact.h"
#include "entrypoint/transfer/download_order.h"
#include "entrypoint/transfer/peers/peer_request.h"
#include "entrypoint/transfer/s3/address.h"
#include "entrypoint/transfer/s3/credentials.h"
#include "entrypoint/transfer/s3/objects.h"
#include "entrypoint/transfer/s3/xml_fields.h"
#include "entrypoint/transfer/upload_order.h"
#include "tests/support/no_memory.h"
#include "tests/support/no_memory_rows.h"
#include "tests/support/unit.h"

#include <inttypes.h>
#include <string.h>

#define add no_memory_answer

static int answer_listing(struct error *err) {
    static const char page[] =
        "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
        "<NextContinuationToken>t</NextContinuationToken>"
        "<Contents><Key>a%2Fb+c</Key><Size>12</Size><ETag>&quot;e0&quot;</ETag></Contents>"
        "<Contents><Key>d</Key><Size>0</Size><LastModified>2026-01-01T00:00:00Z</LastModified>"
        "</Contents></ListBucketResult>";
    struct objects l = {0};
    int done = objects_add_page(&l, page, strlen(page), err);
    for (size_t i = 0; done == 0 && i < l.count; i++)
        add("%s %s %" PRId64 " %" PRId64 ";", l.items[i].key,
            l.items[i].etag != NULL ? l.items[i].etag : "none", l.items[i].size,
            l.items[i].modified);
    if (done == 0)
        add("%s", l.token);
    objects_done(&l);
    return done;
}

static int answer_begun(struct error *err) {
    static const char text[] = "<InitiateMultipartUploadResult><UploadId>an id</UploadId>"
                               "</InitiateMultipartUploadResult>";
    char id[XML_FIELDS_ID_MAX];
    int done = xml_fields_text(text, strlen(text), "InitiateMultipartUploadResult", "UploadId", id,
                               sizeof(id), err);
    if (done == 0)
        add("%s", id);
    return done;
}

static int answer_uploads(struct error *err) {
    static const char text[] =
        "<ListMultipartUploadsResult><EncodingType>url</EncodingType>"
        "<Upload><Key>in/a%20b</Key><UploadId>1</UploadId></Upload>"
        "<Upload><Key>other</Key><UploadId>2</UploadId></Upload></ListMultipartUploadsResult>";
    struct xml_fields_uploads u = {0};
    int done = xml_fields_uploads_read(text, strlen(text), &u, err);
    for (size_t i = 0; done == 0 && i < u.count; i++)
        add("%s %s;", u.items[i].key, u.items[i].id);
    xml_fields_uploads_done(&u);
    return done;
}

static int answer_parts(struct error *err) {
    static const char text[] =
        "<ListPartsResult><IsTruncated>true</IsTruncated>"
        "<NextPartNumberMarker>3</NextPartNumberMarker><Part><PartNumber>3</PartNumber>"
        "<ETag>\"abc\"</ETag><Size>16777216</Size></Part></ListPartsResult>";
    struct xml_fields_parts p = {0};
    int done = xml_fields_parts_read(text, strlen(text), &p, err);
    for (size_t i = 0; done == 0 && i < p.count; i++)
        add("%u %" PRId64 " %s;", p.items[i].number, p.items[i].size, p.items[i].etag);
    if (done == 0)
        add("%u", p.next);
    xml_fields_parts_done(&p);
    return done;
}

/* Secrets that could not be kept out of logs are none. */
static int answer_work(struct error *err) {
    static const char text[] =
        "{\"environment\":[\"AWS_REGION=r\",\"AWS_SECRET_ACCESS_KEY=hush-hush-hush\"],"
        "\"seconds\":60,\"tasks\":[{\"what\":\"code\",\"from\":\"s3://b/s.tar.gz\",\"to\":\"/c\","
        "\"unpack\":true},{\"what\":\"train\",\"from\":\"file:///d\",\"to\":\"/t\",\"shard\":1,"
        "\"shards\":2}]}";
    struct download_order w;
    int done = download_order_parse(text, strlen(text), &w, err);
    if (done == 0) {
        cleanup_buf struct buf clean;
        buf_init(&clean, 1024);
        done = redact_text(&clean, "hush-hush-hush", err);
        add("%zu %s %s %" PRId64 " %s", w.environment.count, w.tasks[0].from, w.tasks[1].to,
            w.tasks[1].shards, done == 0 ? buf_text(&clean) : "");
        download_order_done(&w);
    }
    redact_done();
    return done;
}

static int answer_outgoing(struct error *err) {
    static const char text[] =
        "{\"seconds\":60,\"uploads\":[{\"what\":\"model\",\"from\":\"/m\",\"to\":"
        "\"s3://bucket/m/\"},{\"what\":\"output\",\"from\":\"/o\",\"to\":\"file:///out/\","
        "\"live\":true}]}";
    struct download_order w;
    struct upload_order out;
    if (download_order_parse(text, strlen(text), &w, err) != 0)
        return -1;
    int done = upload_order_parse(w.uploads, &w.environment, w.seconds, &out, err);
    for (size_t i = 0; done == 0 && i < out.count; i++)
        add("%s %s %d;", out.uploads[i].from, out.uploads[i].to.text, out.live[i]);
    if (done == 0)
        upload_order_done(&out);
    download_order_done(&w);
    redact_done();
    return done;
}

static int answer_credentials(struct error *err) {
    static const char text[] =
        "{\"Code\":\"Success\",\"AccessKeyId\":\"AKID\",\"SecretAccessKey\":\"hush-hush-hush\","
        "\"Token\":\"token-token\",\"Expiration\":\"2026-01-01T00:00:00Z\"}";
    struct argv environment = {0};
    struct credential_source s = {.environment = &environment};
    struct credentials told;
    const struct credentials *own = NULL;
    int done = credentials_parse(text, strlen(text), &told, err);
    if (done == 0)
        done = argv_set_env(&environment, "AWS_ACCESS_KEY_ID", "AKIA", err);
    if (done == 0)
        done = argv_set_env(&environment, "AWS_SECRET_ACCESS_KEY", "canary-canary", err);
    if (done == 0)
        done = credentials_get(&s, 1700000000, false, &own, err);
    if (done == 0)
        add("%s %s %s %" PRId64 " %s %s", told.id, told.secret, told.token, told.expires, own->id,
            own->secret);
    credentials_done(&s);
    argv_done(&environment);
    redact_done();
    return done;
}

static int answer_addresses(struct error *err) {
    static const char *const texts[] = {"s3://bucket/a/b", "https://h:1/x?secret", "file:///a/b"};
    static const char head[] = "GET /train/odd/a%20b HTTP/1.1\r\nRange: bytes=7-99\r\n\r\n";
    static struct peer_request w;
    int done = peer_request_parse(head, strlen(head), &w);
    add("%s %s %" PRId64 ";", w.task, w.path, w.to);
    for (size_t i = 0; done == 0 && i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct address a;
        done = address_parse(texts[i], &a, err);
        if (done == 0)
            add("%s %s %s;", a.shown, a.bucket != NULL ? a.bucket : "", a.rest);
        if (done == 0)
            address_done(&a);
    }
    return done;
}

static const struct no_memory_row rows[] = {{"a listing", answer_listing},
                                            {"an upload that began", answer_begun},
                                            {"uploads that are left", answer_uploads},
                                            {"parts of one", answer_parts},
                                            {"an order to fetch", answer_work},
                                            {"an order to upload", answer_outgoing},
                                            {"credentials", answer_credentials},
                                            {"addresses", answer_addresses}};

static void every_allocation_may_fail(void) {
    no_memory_try(rows, sizeof(rows) / sizeof(rows[0]));
}

UNIT_SUITE("transfer.no_memory", UNIT(every_allocation_may_fail))
