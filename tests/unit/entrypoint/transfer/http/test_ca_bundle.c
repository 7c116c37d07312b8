#include "entrypoint/transfer/http/ca_bundle.h"
#include "tests/support/tree.h"
#include "tests/support/unit.h"

static char root[2048];

static void use_root(const char *name) {
    (void)snprintf(root, sizeof(root), "%s/%s", unit_temp_dir(), name);
}

static void every_distribution_has_its_place(void) {
    static const char *const rows[][2] = {{"etc/ssl/certs", "ca-certificates.crt"},
                                          {"etc/pki/tls/certs", "ca-bundle.crt"},
                                          {"etc/pki/ca-trust/extracted/pem", "tls-ca-bundle.pem"},
                                          {"etc/ssl", "ca-bundle.pem"},
                                          {"etc/ssl", "cert.pem"}};
    char expected[128];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        use_root(rows[i][1]);
        tree_put(root, rows[i][0], rows[i][1], "");
        (void)snprintf(expected, sizeof(expected), "/%s/%s", rows[i][0], rows[i][1]);
        CU_ASSERT_STRING_EQUAL(ca_bundle_find(root), expected);
    }
}

static void the_first_of_two_is_taken(void) {
    use_root("two");
    tree_put(root, "etc/ssl", "cert.pem", "");
    tree_put(root, "etc/pki/tls/certs", "ca-bundle.crt", "");
    CU_ASSERT_STRING_EQUAL(ca_bundle_find(root), "/etc/pki/tls/certs/ca-bundle.crt");
}

static void an_image_without_any_is_reported_where_one_should_be(void) {
    use_root("none");
    CU_ASSERT_STRING_EQUAL(ca_bundle_find(root), "/etc/ssl/certs/ca-certificates.crt");
}

/* Distributions build it with one. */
static void a_libcurl_with_a_place_keeps_it(void) {
    CU_ASSERT_PTR_NULL(ca_bundle_default());
}

UNIT_SUITE("transfer.http.ca_bundle", UNIT(every_distribution_has_its_place),
           UNIT(the_first_of_two_is_taken),
           UNIT(an_image_without_any_is_reported_where_one_should_be),
           UNIT(a_libcurl_with_a_place_keeps_it))
