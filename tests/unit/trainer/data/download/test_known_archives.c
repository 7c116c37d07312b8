#include "tests/support/unit.h"
#include "trainer/data/download/known_archives.h"

#include <string.h>

static void published_archives_have_a_digest(void) {
    static const char *const names[] = {"flower_photos.tgz", "cifar-10-binary.tar.gz",
                                        "ILSVRC2012_img_train.tar", "val2017.zip"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *digits = known_archive_sha256(names[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(digits);
        CU_ASSERT_EQUAL(strlen(digits), 64);
        CU_ASSERT_EQUAL(strspn(digits, "0123456789abcdef"), 64);
    }
    CU_ASSERT_PTR_NULL(known_archive_sha256("flower_photos.tar"));
    CU_ASSERT_PTR_NULL(known_archive_sha256(""));
}

UNIT_SUITE("data.download.known_archives", UNIT(published_archives_have_a_digest))
