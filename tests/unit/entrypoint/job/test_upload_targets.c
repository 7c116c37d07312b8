#include "entrypoint/job/upload_targets.h"
#include "tests/support/unit.h"

#include <string.h>

static void what_can_be_a_target_is_one(void) {
    static const char *const good[] = {"s3://bucket", "s3://bucket/a/b/", "file:///mnt/out"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        const struct settings s = {.output = good[i], .checkpoints = good[i]};
        CU_ASSERT_EQUAL(upload_targets_check(&s, NULL), 0);
        CU_ASSERT_TRUE(upload_targets_any(&s));
        CU_ASSERT_TRUE(upload_targets_upload(&s));
    }
}

static void what_cannot_is_named(void) {
    static const char *const bad[] = {"/mnt", "https://h/x", "file://host/x", "S3://bucket", "x"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct error err = {0};
        const struct settings output = {.output = bad[i]};
        const struct settings checkpoints = {.checkpoints = bad[i]};
        CU_ASSERT_EQUAL(upload_targets_check(&output, &err), -1);
        ASSERT_CONTAINS(err.text, "RINGMASTER_OUTPUT: \"");
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        CU_ASSERT_EQUAL(upload_targets_check(&checkpoints, &err), -1);
        ASSERT_CONTAINS(err.text, "RINGMASTER_CHECKPOINTS: \"");
    }
    char text[UPLOAD_TARGETS_TEXT_MAX + 2];
    struct error err = {0};
    memset(text, 'x', sizeof(text));
    memcpy(text, "s3://", 5);
    text[sizeof(text) - 1] = '\0';
    const struct settings s = {.output = text};
    CU_ASSERT_EQUAL(upload_targets_check(&s, &err), -1);
    ASSERT_CONTAINS(err.text, "more than 1024 bytes");
}

static void a_link_needs_no_upload(void) {
    const struct settings none = {0};
    const struct settings link = {.checkpoints = "file:///mnt/states"};
    CU_ASSERT_FALSE(upload_targets_any(&none) || upload_targets_upload(&none));
    CU_ASSERT_TRUE(upload_targets_any(&link));
    CU_ASSERT_FALSE(upload_targets_upload(&link));
}

UNIT_SUITE("job.upload_targets", UNIT(what_can_be_a_target_is_one), UNIT(what_cannot_is_named),
           UNIT(a_link_needs_no_upload))
