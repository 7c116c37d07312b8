/* The vectors with AKIAIOSFODNN7EXAMPLE are those of S3's API reference ("Transferring Payload in a
 * Single Chunk"); the others are botocore's answers (tests/golden/sigv4_botocore.py). */
#include "golden/sigv4.h"
#include "http/percent.h"
#include "s3/sigv4.h"
#include "support/unit.h"

#include <stdio.h>
#include <string.h>

static const struct credentials published = {.id = "AKIAIOSFODNN7EXAMPLE",
                                             .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
static const int64_t may_2013 = 1369353600; /* 2013-05-24T00:00:00Z */

static const char *header(const struct argv *headers, const char *name) {
    size_t size = strlen(name);
    for (size_t i = 0; i < headers->count; i++)
        if (strncmp(headers->items[i], name, size) == 0 && headers->items[i][size] == ':')
            return headers->items[i] + size + 2;
    return "";
}

static void the_published_vectors_come_out(void) {
    static const struct {
        const char *method, *path, *query, *payload;
        const char *headers[2];
        const char *names, *signature;
    } cases[] = {
        {"GET",
         "/test.txt",
         "",
         SIGV4_EMPTY,
         {"range: bytes=0-9", NULL},
         "host;range;x-amz-content-sha256;x-amz-date",
         "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
        {"PUT",
         "/test%24file.text",
         "",
         "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
         {"x-amz-storage-class: REDUCED_REDUNDANCY", "date: Fri, 24 May 2013 00:00:00 GMT"},
         "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
         "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
        {"GET",
         "/",
         "lifecycle=",
         SIGV4_EMPTY,
         {NULL, NULL},
         "host;x-amz-content-sha256;x-amz-date",
         "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
        {"GET",
         "/",
         "max-keys=2&prefix=J",
         SIGV4_EMPTY,
         {NULL, NULL},
         "host;x-amz-content-sha256;x-amz-date",
         "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct sigv4_request request = {.method = cases[i].method,
                                              .host = "examplebucket.s3.amazonaws.com",
                                              .path = cases[i].path,
                                              .query = cases[i].query,
                                              .payload = cases[i].payload,
                                              .region = "us-east-1"};
        cleanup_argv struct argv headers = {0};
        for (size_t n = 0; n < 2 && cases[i].headers[n] != NULL; n++)
            CU_ASSERT_EQUAL(argv_add(&headers, cases[i].headers[n], NULL), 0);
        CU_ASSERT_EQUAL(sigv4_sign(&request, &published, may_2013, &headers, NULL), 0);
        char expected[512];
        (void)snprintf(expected, sizeof(expected),
                       "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/"
                       "aws4_request,SignedHeaders=%s,Signature=%s",
                       cases[i].names, cases[i].signature);
        CU_ASSERT_STRING_EQUAL(header(&headers, "authorization"), expected);
        CU_ASSERT_STRING_EQUAL(header(&headers, "x-amz-date"), "20130524T000000Z");
        CU_ASSERT_STRING_EQUAL(header(&headers, "x-amz-content-sha256"), cases[i].payload);
        CU_ASSERT_STRING_EQUAL(header(&headers, "x-amz-security-token"), "");
    }
}

/* Keys and prefixes with all that other signers stumbled over, with and without a token. */
static void odd_keys_are_signed_as_by_the_sdk(void) {
    for (size_t i = 0; i < sizeof(golden_sigv4) / sizeof(golden_sigv4[0]); i++) {
        const struct golden_sigv4 *g = &golden_sigv4[i];
        struct credentials c = {.id = "AKIDEXAMPLE", .secret = "secret/of+tests"};
        (void)snprintf(c.token, sizeof(c.token), "%s", g->token);
        cleanup_buf struct buf path;
        cleanup_buf struct buf query;
        buf_init(&path, 8192);
        buf_init(&query, 8192);
        CU_ASSERT_EQUAL(percent_add_path(&path, g->path, NULL), 0);
        const struct percent_pair pairs[] = {{"prefix", g->prefix}, {"list-type", "2"}};
        CU_ASSERT_EQUAL(percent_add_query(&query, pairs, g->prefix[0] != '\0' ? 2 : 0, NULL), 0);
        const struct sigv4_request request = {.method = "GET",
                                              .host = "127.0.0.1:5000",
                                              .path = buf_text(&path),
                                              .query = buf_text(&query),
                                              .payload = SIGV4_EMPTY,
                                              .region = g->region};
        cleanup_argv struct argv headers = {0};
        CU_ASSERT_EQUAL(sigv4_sign(&request, &c, 1700000000, &headers, NULL), 0);
        const char *signature = strstr(header(&headers, "authorization"), "Signature=");
        CU_ASSERT_STRING_EQUAL(signature != NULL ? signature + strlen("Signature=") : "",
                               g->signature);
        CU_ASSERT_STRING_EQUAL(header(&headers, "x-amz-security-token"), g->token);
    }
}

UNIT_MAIN("transfer.sigv4", UNIT(the_published_vectors_come_out),
          UNIT(odd_keys_are_signed_as_by_the_sdk))
