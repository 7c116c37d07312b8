/* Key pair and self-signed certificate of a server nobody vouches for.
 *
 * The certificate is valid today. */
#ifndef TESTS_UNIT_ENTRYPOINT_WIRE_CERTIFICATE_H
#define TESTS_UNIT_ENTRYPOINT_WIRE_CERTIFICATE_H

#include "tests/support/unit.h"

#include <openssl/ec.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

static inline void give_certificate(SSL_CTX *context) {
    EVP_PKEY *pair = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    X509_NAME *name = X509_get_subject_name(certificate);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pair);
    CU_ASSERT_EQUAL(ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1), 1);
    CU_ASSERT_PTR_NOT_NULL(X509_gmtime_adj(X509_getm_notBefore(certificate), -3600));
    CU_ASSERT_PTR_NOT_NULL(X509_gmtime_adj(X509_getm_notAfter(certificate), 3600));
    CU_ASSERT_EQUAL(X509_set_pubkey(certificate, pair), 1);
    CU_ASSERT_EQUAL(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                               (const unsigned char *)"algo-1", -1, -1, 0),
                    1);
    CU_ASSERT_EQUAL(X509_set_issuer_name(certificate, name), 1);
    CU_ASSERT(X509_sign(certificate, pair, EVP_sha256()) > 0);
    CU_ASSERT_EQUAL(SSL_CTX_use_certificate(context, certificate), 1);
    CU_ASSERT_EQUAL(SSL_CTX_use_PrivateKey(context, pair), 1);
    X509_free(certificate);
    EVP_PKEY_free(pair);
}

#endif
