#include "common/buf.h"
#include "entrypoint/transfer/s3/objects.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

#define HEAD                                                                                       \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"                                                 \
    "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>"
#define TAIL "</ListBucketResult>"

static int add(struct objects *l, const char *text, struct error *err) {
    return objects_add_page(l, text, strlen(text), err);
}

static void pages_add_up(void) {
    struct objects l = {0};
    CU_ASSERT_EQUAL(add(&l,
                        HEAD
                        "<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
                        "<NextContinuationToken>to+ken/==</NextContinuationToken>"
                        "<Contents><Key>a/b+c%2B%C3%A9</Key><Size>12</Size>"
                        "<ETag>&quot;0123&quot;</ETag><Owner><ID>x</ID></Owner></Contents>" TAIL,
                        NULL),
                    0);
    CU_ASSERT_STRING_EQUAL(l.token, "to+ken/==");
    CU_ASSERT_EQUAL(add(&l,
                        HEAD "<IsTruncated>false</IsTruncated><Contents><ETag>\"x-2\"</ETag>"
                             "<Size>9223372036854775807</Size><Key>p+l%20us&amp;</Key></Contents>"
                             "<Contents><Key>z/</Key><Size>0</Size></Contents>" TAIL,
                        NULL),
                    0);
    CU_ASSERT_STRING_EQUAL(l.token, "");
    CU_ASSERT_EQUAL_FATAL(l.count, 3);
    CU_ASSERT_STRING_EQUAL(l.items[0].key, "a/b c+é");
    CU_ASSERT_STRING_EQUAL(l.items[0].etag, "0123");
    CU_ASSERT_EQUAL(l.items[0].size, 12);
    CU_ASSERT_STRING_EQUAL(l.items[1].key, "p+l%20us&");
    CU_ASSERT_STRING_EQUAL(l.items[1].etag, "x-2");
    CU_ASSERT_EQUAL(l.items[1].size, INT64_MAX);
    CU_ASSERT_STRING_EQUAL(l.items[2].key, "z/");
    CU_ASSERT_PTR_NULL(l.items[2].etag);
    objects_done(&l);
}

/* OBJECTS_MAX objects are accepted, and not one more. */
static void objects_have_a_ceiling(void) {
    enum { PAGE = 10000 };
    static const char one[] = "<Contents><Key>k</Key><Size>1</Size></Contents>";
    struct objects l = {0};
    struct error err = {0};
    cleanup_buf struct buf page;
    buf_init(&page, OBJECTS_PAGE_MAX);
    CU_ASSERT_EQUAL(buf_add_text(&page, HEAD, NULL), 0);
    for (int i = 0; i < PAGE; i++)
        CU_ASSERT_EQUAL(buf_add_text(&page, one, NULL), 0);
    CU_ASSERT_EQUAL(buf_add_text(&page, TAIL, NULL), 0);
    for (int i = 0; i < OBJECTS_MAX / PAGE; i++)
        CU_ASSERT_EQUAL_FATAL(add(&l, buf_text(&page), &err), 0);
    CU_ASSERT_EQUAL(l.count, OBJECTS_MAX);
    CU_ASSERT_EQUAL(add(&l, HEAD "<Contents><Key>k</Key><Size>1</Size></Contents>" TAIL, &err), -1);
    ASSERT_CONTAINS(err.text, "has more than a million objects");
    CU_ASSERT_EQUAL(l.count, OBJECTS_MAX);
    objects_done(&l);
}

static void what_is_no_listing_is_refused(void) {
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "not XML"},
        {"<html><body/></html>", "does not begin with ListBucketResult"},
        {HEAD, "not XML"},
        {HEAD "<Contents><Key>a</Key></Contents>" TAIL, "without key or size"},
        {HEAD "<Contents><Size>1</Size></Contents>" TAIL, "without key or size"},
        {HEAD "<Contents><Key>a</Key><Size>-1</Size></Contents>" TAIL, "no whole number"},
        {HEAD "<Contents><Key>a</Key><Size>1x</Size></Contents>" TAIL, "no whole number"},
        {HEAD "<IsTruncated>true</IsTruncated>" TAIL, "does not say where"},
        {HEAD
         "<EncodingType>url</EncodingType><Contents><Key>%0</Key><Size>1</Size></Contents>" TAIL,
         "not encoded"},
        {"<!DOCTYPE x [<!ENTITY a \"aaaa\">]>" TAIL, "document type"},
        {HEAD "<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a></a>" TAIL, "too deep"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct objects l = {0};
        struct error err = {0};
        CU_ASSERT_EQUAL(add(&l, cases[i].text, &err), -1);
        ASSERT_CONTAINS(err.text, cases[i].words);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        objects_done(&l);
    }
}

static void texts_have_a_ceiling(void) {
    static char text[64 * 1024];
    struct objects l = {0};
    struct error err = {0};
    size_t size = (size_t)snprintf(text, sizeof(text), HEAD "<Contents><Key>");
    memset(text + size, 'a', 20000);
    (void)snprintf(text + size + 20000, 1024, "</Key><Size>1</Size></Contents>" TAIL);
    CU_ASSERT_EQUAL(add(&l, text, &err), -1);
    ASSERT_CONTAINS(err.text, "too long");
    objects_done(&l);
}

UNIT_SUITE("transfer.objects", UNIT(pages_add_up), UNIT(objects_have_a_ceiling),
           UNIT(what_is_no_listing_is_refused), UNIT(texts_have_a_ceiling))
