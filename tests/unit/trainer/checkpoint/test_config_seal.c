#include "common/crc32c.h"
#include "tests/support/unit.h"
#include "trainer/checkpoint/config_seal.h"

#include <stdio.h>
#include <string.h>

static const char text[] =
    "{\n  \"model\": \"x \\\"checksum\\\": \\\"crc32c:\",\n  \"mean\": 0.485\n}";
static struct error err;

static void seal(struct buf *out) {
    buf_init(out, 1024);
    CU_ASSERT_EQUAL_FATAL(config_seal_add(out, text, &err), 0);
}

static void what_is_sealed_agrees_with_itself(void) {
    cleanup_buf struct buf out = {0};
    bool sealed = false;
    char zeros[256], wanted[256];
    seal(&out);
    CU_ASSERT_EQUAL(config_seal_check(buf_text(&out), out.size, "c.json", &sealed, &err), 0);
    CU_ASSERT_TRUE(sealed);
    const char *rest = strstr(text, "  \"mean\"");
    const int first = (int)(rest - text);
    (void)snprintf(zeros, sizeof(zeros), "%.*s  \"checksum\": \"crc32c:00000000\",\n%s", first,
                   text, rest);
    (void)snprintf(wanted, sizeof(wanted), "%.*s  \"checksum\": \"crc32c:%08x\",\n%s", first, text,
                   (unsigned)crc32c(0, zeros, strlen(zeros)), rest);
    CU_ASSERT_STRING_EQUAL(buf_text(&out), wanted);
}

static void what_has_no_seal_is_reported(void) {
    bool sealed = true;
    CU_ASSERT_EQUAL(config_seal_check(text, sizeof(text) - 1, "c.json", &sealed, &err), 0);
    CU_ASSERT_FALSE(sealed);
    CU_ASSERT_EQUAL(config_seal_check("", 0, "c.json", &sealed, &err), 0);
    CU_ASSERT_FALSE(sealed);
}

/* But for those in the key itself, which make the text one without a checksum. */
static void every_changed_bit_is_seen(void) {
    cleanup_buf struct buf out = {0};
    seal(&out);
    const char *key = strstr(buf_text(&out), "\"checksum\": \"crc32c:");
    CU_ASSERT_PTR_NOT_NULL_FATAL(key);
    const size_t first = (size_t)(key - out.data), size = sizeof("\"checksum\": \"crc32c:") - 1;
    for (size_t bit = 0; bit < 8 * out.size; bit++) {
        bool sealed = true;
        out.data[bit / 8] ^= (char)(1 << bit % 8);
        const bool in_key = bit / 8 >= first && bit / 8 < first + size;
        CU_ASSERT_EQUAL(config_seal_check(out.data, out.size, "c.json", &sealed, &err),
                        in_key ? 0 : -1);
        CU_ASSERT_EQUAL(sealed, !in_key);
        out.data[bit / 8] ^= (char)(1 << bit % 8);
    }
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
    ASSERT_CONTAINS(err.text, "c.json: does not match its checksum");
    ASSERT_CONTAINS(err.text, "remove the line \"checksum\"");
    for (size_t cut = first + size; cut < out.size; cut++) {
        bool sealed = false;
        CU_ASSERT_EQUAL(config_seal_check(out.data, cut, "c.json", &sealed, &err), -1);
    }
}

static void what_is_no_object_takes_no_seal(void) {
    cleanup_buf struct buf out = {0};
    buf_init(&out, 1024);
    CU_ASSERT_EQUAL(config_seal_add(&out, "{}", &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_INTERNAL);
    cleanup_buf struct buf small = {0};
    buf_init(&small, 8);
    CU_ASSERT_EQUAL(config_seal_add(&small, text, &err), -1);
}

UNIT_SUITE("checkpoint.config_seal", UNIT(what_is_sealed_agrees_with_itself),
           UNIT(what_has_no_seal_is_reported), UNIT(every_changed_bit_is_seen),
           UNIT(what_is_no_object_takes_no_seal))
