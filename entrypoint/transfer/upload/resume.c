#include "entrypoint/transfer/upload/resume.h"

#include "entrypoint/transfer/s3/etag.h"
#include "entrypoint/transfer/s3/s3_call.h"

#include <stdio.h>
#include <string.h>

enum { TRIES = 3 };

static int get(const struct resume *u, const char *key, const struct percent_pair *pairs,
               size_t pair_count, struct buf *page, struct error *err) {
    const struct s3_call a = {.s3 = u->s3,
                              .method = "GET",
                              .bucket = u->bucket,
                              .key = key,
                              .pairs = pairs,
                              .pair_count = pair_count,
                              .seconds = u->seconds,
                              .tries = TRIES,
                              .give_up = u->give_up};
    return s3_call(&a, u->name, page, NULL, err);
}

int resume_list(const struct resume *u, const char *prefix, struct xml_fields_uploads *ret,
                struct error *err) {
    const struct percent_pair pairs[] = {
        {"uploads", ""}, {"encoding-type", "url"}, {"prefix", prefix}};
    cleanup_buf struct buf page;
    buf_init(&page, S3_CALL_ANSWER_MAX);
    *ret = (struct xml_fields_uploads){0};
    if (get(u, "", pairs, 3, &page, err) != 0)
        return -1;
    return xml_fields_uploads_read(buf_text(&page), page.size, ret, err);
}

/* --- parts of an upload ----------------------------------------------------------------------- */

static bool is_ours(const struct xml_fields_part *listed, int fd, int64_t size,
                    struct resume_part *part) {
    int64_t whole = etag_part_size(size);
    int64_t begin = (listed->number - 1) * whole;
    int64_t length = size - begin < whole ? size - begin : whole;
    unsigned char raw[DIGEST_SHA256];
    char own[DIGEST_HEX_MAX];
    struct digest md5 = {0};
    struct digest *const digests[] = {&md5};
    bool same = listed->size == length && digest_begin(&md5, DIGEST_OF_MD5, NULL) == 0 &&
                etag_digest(fd, begin, length, digests, 1, NULL) == 0 &&
                digest_finish(&md5, raw, NULL) == 0;
    digest_done(&md5);
    if (!same)
        return false;
    digest_hex(raw, DIGEST_MD5, own);
    if (strcmp(own, listed->etag) != 0)
        return false;
    memcpy(part->md5, raw, DIGEST_MD5);
    (void)snprintf(part->etag, sizeof(part->etag), "%s", listed->etag);
    part->there = true;
    return true;
}

unsigned resume_parts(const struct resume *u, const char *key, const char *id, int fd, int64_t size,
                      struct resume_part *parts, unsigned count, unsigned most) {
    struct xml_fields_parts page_parts = {0};
    unsigned found = 0;
    unsigned marker = 0;
    bool first = true;
    do {
        char text[16];
        cleanup_buf struct buf page;
        buf_init(&page, S3_CALL_ANSWER_MAX);
        (void)snprintf(text, sizeof(text), "%u", marker);
        const struct percent_pair pairs[] = {{"uploadId", id}, {"part-number-marker", text}};
        xml_fields_parts_done(&page_parts);
        if (get(u, key, pairs, marker > 0 ? 2 : 1, &page, NULL) != 0 ||
            xml_fields_parts_read(buf_text(&page), page.size, &page_parts, NULL) != 0)
            break;
        for (size_t i = 0; i < page_parts.count && found < most; i++) {
            const struct xml_fields_part *listed = &page_parts.items[i];
            if (u->give_up != NULL && *u->give_up != 0)
                most = found;
            else if (listed->number <= count && !parts[listed->number - 1].there &&
                     is_ours(listed, fd, size, &parts[listed->number - 1]))
                found++;
            else if (first)
                most = 0;
            first = false;
        }
        /* Ends if a server repeats its pages. */
        if (page_parts.next <= marker)
            break;
        marker = page_parts.next;
    } while (found < most);
    xml_fields_parts_done(&page_parts);
    return found;
}
