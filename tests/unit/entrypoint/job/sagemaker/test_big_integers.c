#include "common/json/json.h"
#include "entrypoint/job/sagemaker/big_integers.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

static int parse(const char *text, json_t **ret, struct error *err) {
    return big_integers_parse(text, strlen(text), "file", ret, err);
}

/* What is read and written again. */
static char *copy(const char *text) {
    cleanup_json json_t *root = NULL;
    CU_ASSERT_EQUAL(parse(text, &root, NULL), 0);
    return big_integers_dump(root, JSON_ENCODE_ANY | JSON_COMPACT);
}

static void documents_come_back_as_they_were(void) {
    static const char *const texts[] = {
        "18446744073709551615",
        "{\"a\":[-9223372036854775809,7,0.1,\"x\"],\"b\":99999999999999999999}",
        "[99999999999999999999,\"99999999999999999999\",\"\\\"\\\\u0000\"]",
        "[\"\\\\\",99999999999999999999,\"\\\\u00005\"]",
        "{\"a\":[1,9223372036854775807,-9223372036854775808]}",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char *again = copy(texts[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(again);
        CU_ASSERT_STRING_EQUAL(again, texts[i]);
        free(again);
    }
}

static void only_integers_beyond_64_bits_have_digits(void) {
    cleanup_json json_t *list = NULL;
    CU_ASSERT_EQUAL_FATAL(
        parse("[-9223372036854775809,9223372036854775807,\"\",\"9\",null,0.5]", &list, NULL), 0);
    CU_ASSERT_STRING_EQUAL(big_integers_digits(json_array_get(list, 0)), "-9223372036854775809");
    for (size_t i = 1; i < json_array_size(list); i++)
        CU_ASSERT_PTR_NULL(big_integers_digits(json_array_get(list, i)));
    cleanup_json json_t *inner = NULL;
    CU_ASSERT_EQUAL(big_integers_decode("[99999999999999999999]", &inner, NULL), 0);
    CU_ASSERT_STRING_EQUAL(big_integers_digits(json_array_get(inner, 0)), "99999999999999999999");
    json_t *none = inner;
    CU_ASSERT_EQUAL(big_integers_decode("99999999999999999999x", &none, NULL), 0);
    CU_ASSERT_PTR_NULL(none);
}

static void broken_documents_are_errors(void) {
    static const char *const broken[] = {"",
                                         "99999999999999999999 1",
                                         "099999999999999999999",
                                         "{99999999999999999999:1}",
                                         "[99999999999999999999,\"\\u0000\"]",
                                         "[99999999999999999999,\"",
                                         "\"99999999999999999999",
                                         "-",
                                         "[99999999999999999999,{\"a\":1,\"a\":2}]",
                                         "99999999999999999999.",
                                         "1e999"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        json_t *root = NULL;
        struct error err = {0};
        CU_ASSERT_EQUAL(parse(broken[i], &root, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, "file:");
        CU_ASSERT_PTR_NULL(root);
    }
}

UNIT_SUITE("job.big_integers", UNIT(documents_come_back_as_they_were),
           UNIT(only_integers_beyond_64_bits_have_digits), UNIT(broken_documents_are_errors))
