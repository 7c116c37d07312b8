#include "entrypoint/transfer/s3/address.h"
#include "tests/support/unit.h"

#include <string.h>

static void addresses_are_distinguished(void) {
    static const struct {
        const char *text, *bucket, *rest, *shown, *name;
        enum address_kind kind;
    } cases[] = {
        {"s3://bucket/a/b c.tar.gz", "bucket", "a/b c.tar.gz", "s3://bucket/a/b c.tar.gz",
         "b c.tar.gz", ADDRESS_S3},
        {"s3://my.bucket-1/a?b#c%20", "my.bucket-1", "a?b#c%20", "s3://my.bucket-1/a?b#c%20",
         "a?b#c%20", ADDRESS_S3},
        {"s3://bucket", "bucket", "", "s3://bucket", "", ADDRESS_S3},
        {"s3://bucket/folder/", "bucket", "folder/", "s3://bucket/folder/", "", ADDRESS_S3},
        {"https://host/data.tar?X-Amz-Signature=secret", NULL, "/data.tar?X-Amz-Signature=secret",
         "https://host/data.tar", "data.tar", ADDRESS_HTTP},
        {"http://127.0.0.1:80/x", NULL, "/x", "http://127.0.0.1:80/x", "x", ADDRESS_HTTP},
        {"http://localhost/x", NULL, "/x", "http://localhost/x", "x", ADDRESS_HTTP},
        {"http://[::1]:5/x", NULL, "/x", "http://[::1]:5/x", "x", ADDRESS_HTTP},
        {"file:///mnt/data", NULL, "/mnt/data", "file:///mnt/data", "data", ADDRESS_FILE},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct address a;
        CU_ASSERT_EQUAL(address_parse(cases[i].text, &a, NULL), 0);
        CU_ASSERT_EQUAL(a.kind, cases[i].kind);
        CU_ASSERT_STRING_EQUAL(a.rest, cases[i].rest);
        CU_ASSERT_STRING_EQUAL(a.shown, cases[i].shown);
        CU_ASSERT_STRING_EQUAL(address_name(&a), cases[i].name);
        if (cases[i].bucket == NULL)
            CU_ASSERT_PTR_NULL(a.bucket);
        if (cases[i].bucket != NULL)
            CU_ASSERT_STRING_EQUAL(a.bucket, cases[i].bucket);
        address_done(&a);
    }
}

static void others_are_refused_by_name(void) {
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"ftp://host/x", "ftp://host/x: neither"},
        {"/opt/ml/code", "neither s3://"},
        {"s3://ab/x", "not a valid bucket name"},
        {"s3:///x", "not a valid bucket name"},
        {"s3://bu cket/x", "not a valid bucket name"},
        {"http://example.com/x", "use https://"},
        {"http://127.0.0.1.example.com/x", "use https://"},
        {"http://localhosts/x", "use https://"},
        {"https:///x", "needs a host"},
        {"https://user:hush@host/x", "may not contain a user or password"},
        {"file://host/x", "file:///..."},
        {"s3://bucket/a\nb", "control character"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct address a;
        struct error err = {0};
        CU_ASSERT_EQUAL(address_parse(cases[i].text, &a, &err), -1);
        ASSERT_CONTAINS(err.text, cases[i].words);
        CU_ASSERT_PTR_NULL(strstr(err.text, "hush"));
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        CU_ASSERT_PTR_NULL(a.text);
    }
    static char longest[ADDRESS_MAX + 16] = "s3://bucket/";
    struct address a;
    struct error err = {0};
    memset(longest + 12, 'a', ADDRESS_KEY_MAX + 1);
    CU_ASSERT_EQUAL(address_parse(longest, &a, &err), -1);
    ASSERT_CONTAINS(err.text, "a key of more than 1024 bytes");
    memset(longest + 12, 'a', ADDRESS_MAX);
    CU_ASSERT_EQUAL(address_parse(longest, &a, &err), -1);
}

UNIT_SUITE("transfer.address", UNIT(addresses_are_distinguished), UNIT(others_are_refused_by_name))
