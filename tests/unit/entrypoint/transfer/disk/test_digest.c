#include "entrypoint/transfer/disk/digest.h"
#include "tests/support/unit.h"

#include <string.h>

/* FIPS 180-2's and RFC 1321's own examples, RFC 4231's second one. */
static const char abc_sha256[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char abc_md5[] = "900150983cd24fb0d6963f7d28e17f72";

static void known_digests_come_out(void) {
    unsigned char bytes[DIGEST_SHA256];
    char hex[DIGEST_HEX_MAX];
    CU_ASSERT_EQUAL(digest_sha256("abc", 3, bytes, NULL), 0);
    digest_hex(bytes, sizeof(bytes), hex);
    CU_ASSERT_STRING_EQUAL(hex, abc_sha256);
    CU_ASSERT_EQUAL(digest_hmac("Jefe", 4, "what do ya want for nothing?", bytes, NULL), 0);
    digest_hex(bytes, sizeof(bytes), hex);
    CU_ASSERT_STRING_EQUAL(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

static void pieces_make_the_same_digest(void) {
    static const struct {
        enum digest_kind kind;
        const char *hex;
    } cases[] = {{DIGEST_OF_SHA256, abc_sha256}, {DIGEST_OF_MD5, abc_md5}};
    struct digest d = {0};
    for (size_t i = 0; i < 2; i++) {
        char hex[DIGEST_HEX_MAX];
        CU_ASSERT_EQUAL(digest_begin(&d, DIGEST_OF_SHA256, NULL), 0);
        CU_ASSERT_EQUAL(digest_add(&d, "other", 5, NULL), 0);
        CU_ASSERT_EQUAL(digest_begin(&d, cases[i].kind, NULL), 0); /* anew */
        CU_ASSERT_EQUAL(digest_add(&d, "a", 1, NULL), 0);
        CU_ASSERT_EQUAL(digest_add(&d, "bc", 2, NULL), 0);
        CU_ASSERT_EQUAL(digest_end(&d, hex, NULL), 0);
        CU_ASSERT_STRING_EQUAL(hex, cases[i].hex);
    }
    digest_done(&d);
    digest_done(&d);
}

UNIT_SUITE("transfer.digest", UNIT(known_digests_come_out), UNIT(pieces_make_the_same_digest))
