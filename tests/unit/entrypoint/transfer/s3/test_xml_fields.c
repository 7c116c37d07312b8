#include "entrypoint/transfer/s3/xml_fields.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static int text_of(const char *document, char ret[16], struct error *err) {
    return xml_fields_text(document, strlen(document), "Root", "Child", ret, 16, err);
}

static void a_text_is_found(void) {
    char text[16];
    CU_ASSERT_EQUAL(text_of("<?xml version='1.0'?><Root xmlns='x'><Other>1</Other><Child>a&amp;b"
                            "</Child><Child>2</Child></Root>",
                            text, NULL),
                    0);
    CU_ASSERT_STRING_EQUAL(text, "a&b");
    CU_ASSERT_EQUAL(text_of("<Root><Child></Child></Root>", text, NULL), 0);
    CU_ASSERT_STRING_EQUAL(text, "");
}

static void what_is_none_is_an_error(void) {
    static const struct {
        const char *document, *words;
    } cases[] = {
        {"", "is not XML"},
        {"<Root>", "is not XML"},
        {"<Root/>", "is a Root without Child"},
        {"<Error><Code>InternalError</Code><Child>x</Child></Error>", "is a Error without Child"},
        {"<Root><In><Child>x</Child></In></Root>", "without Child"},
        {"<Root><Child>0123456789abcdef</Child></Root>", "too long"},
        {"<!DOCTYPE Root [<!ENTITY a 'b'>]><Root><Child>&a;</Child></Root>", "document type"},
        {"<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a>", "nested too deep"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {0};
        char text[16];
        CU_ASSERT_EQUAL(text_of(cases[i].document, text, &err), -1);
        ASSERT_CONTAINS(err.text, cases[i].words);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    }
}

static int uploads_of(const char *document, struct xml_fields_uploads *ret, struct error *err) {
    return xml_fields_uploads_read(document, strlen(document), ret, err);
}

static void uploads_are_listed(void) {
    struct xml_fields_uploads u;
    CU_ASSERT_EQUAL_FATAL(
        uploads_of("<ListMultipartUploadsResult><Upload><Key>a+b%2B</Key><UploadId>1</UploadId>"
                   "<Owner><ID>z</ID></Owner></Upload><EncodingType>url</EncodingType>"
                   "<Upload><Key>lacks</Key></Upload></ListMultipartUploadsResult>",
                   &u, NULL),
        0);
    CU_ASSERT_EQUAL(u.count, 1);
    CU_ASSERT_STRING_EQUAL(u.items[0].key, "a b+");
    CU_ASSERT_STRING_EQUAL(u.items[0].id, "1");
    xml_fields_uploads_done(&u);
    CU_ASSERT_EQUAL_FATAL(
        uploads_of("<ListMultipartUploadsResult><Upload><Key>a+b%</Key><UploadId>1</UploadId>"
                   "</Upload></ListMultipartUploadsResult>",
                   &u, NULL),
        0);
    CU_ASSERT_STRING_EQUAL(u.items[0].key, "a+b%");
    xml_fields_uploads_done(&u);
}

static void odd_uploads_are_refused(void) {
    static const char *const bad[] = {
        "<Error/>", "not XML",
        "<ListMultipartUploadsResult><EncodingType>url</EncodingType><Upload><Key>%</Key>"
        "<UploadId>1</UploadId></Upload></ListMultipartUploadsResult>"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct xml_fields_uploads u;
        struct error err = {0};
        CU_ASSERT_EQUAL(uploads_of(bad[i], &u, &err), -1);
        CU_ASSERT(err.text[0] != '\0');
        CU_ASSERT_PTR_NULL(u.items);
    }
}

static void parts_are_read(void) {
    static const char page[] =
        "<ListPartsResult><IsTruncated>true</IsTruncated>"
        "<NextPartNumberMarker>7</NextPartNumberMarker>"
        "<Part><PartNumber>3</PartNumber><ETag>\"abc\"</ETag><Size>16777216</Size></Part>"
        "<Part><PartNumber>0</PartNumber><ETag>\"abc\"</ETag><Size>1</Size></Part>"
        "<Part><PartNumber>4</PartNumber><Size>1</Size></Part>"
        "<Part><PartNumber>5</PartNumber><ETag>x</ETag></Part>"
        "<Part><PartNumber>7</PartNumber><ETag>def</ETag><Size>1</Size></Part>"
        "</ListPartsResult>";
    struct xml_fields_parts p;
    struct error err = {0};
    CU_ASSERT_EQUAL(xml_fields_parts_read(page, sizeof(page) - 1, &p, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(p.count, 2);
    CU_ASSERT_EQUAL(p.items[0].number, 3);
    CU_ASSERT_EQUAL(p.items[0].size, 16777216);
    CU_ASSERT_STRING_EQUAL(p.items[0].etag, "abc");
    CU_ASSERT_STRING_EQUAL(p.items[1].etag, "def");
    CU_ASSERT_EQUAL(p.next, 7);
    xml_fields_parts_done(&p);
    CU_ASSERT_EQUAL(xml_fields_parts_read("<Error/>", 8, &p, &err), -1);
    ASSERT_CONTAINS(err.text, "the server's answer is a Error");
    CU_ASSERT_PTR_NULL(p.items);
}

UNIT_SUITE("transfer.xml_fields", UNIT(parts_are_read), UNIT(a_text_is_found),
           UNIT(what_is_none_is_an_error), UNIT(uploads_are_listed), UNIT(odd_uploads_are_refused))
