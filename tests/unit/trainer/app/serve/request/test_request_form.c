#include "tests/support/unit.h"
#include "trainer/app/serve/request/base64.h"
#include "trainer/app/serve/request/request_form.h"

#include <stdio.h>
#include <string.h>

static void content_type_decides_how_a_body_is_read(void) {
    CU_ASSERT_EQUAL(request_content_of("image/jpeg"), REQUEST_PICTURE);
    CU_ASSERT_EQUAL(request_content_of(" Image/PNG; q=1"), REQUEST_PICTURE);
    CU_ASSERT_EQUAL(request_content_of("application/x-image"), REQUEST_PICTURE);
    CU_ASSERT_EQUAL(request_content_of("application/octet-stream"), REQUEST_PICTURE);
    CU_ASSERT_EQUAL(request_content_of("application/json; charset=utf-8"), REQUEST_JSON);
    CU_ASSERT_EQUAL(request_content_of("application/jsonlines"), REQUEST_UNKNOWN);
    CU_ASSERT_EQUAL(request_content_of("text/csv"), REQUEST_UNKNOWN);
    CU_ASSERT_EQUAL(request_content_of(""), REQUEST_UNKNOWN);
    CU_ASSERT_EQUAL(request_content_of(NULL), REQUEST_UNKNOWN);
}

static void accept_allows_json_and_may_ask_for_masks(void) {
    bool masks = true;
    CU_ASSERT(request_accepts_json(NULL, &masks) && !masks);
    CU_ASSERT(request_accepts_json("", &masks) && request_accepts_json("*/*", &masks));
    CU_ASSERT(request_accepts_json("text/html, application/*;q=0.5", &masks) && !masks);
    CU_ASSERT(request_accepts_json("Application/JSON; masks=true", &masks) && masks);
    CU_ASSERT(request_accepts_json("text/csv;masks=true, application/json", &masks) && !masks);
    CU_ASSERT_FALSE(request_accepts_json("text/csv", &masks));
    CU_ASSERT_FALSE(request_accepts_json("application/json;q=0", &masks));
    CU_ASSERT_FALSE(request_accepts_json("application/jsonlines", &masks));
}

/* Text of all pictures, each followed by a bar. */
struct taken {
    char text[256];
    bool refuses;
};

static int take(void *user, size_t place, const uint8_t *bytes, size_t size, struct error *err) {
    struct taken *t = user;
    const size_t at = strlen(t->text);
    (void)place;
    if (t->refuses)
        return error_set(err, EXIT_CODE_DATA, "not a picture");
    (void)snprintf(t->text + at, sizeof(t->text) - at, "%.*s|", (int)size, (const char *)bytes);
    return 0;
}

static int read_text(enum request_content content, const char *text, struct taken *t,
                     struct error *err) {
    cleanup_buf struct buf body = {.max = 1 << 20};
    const struct request_pictures pictures = {take, t};
    *err = (struct error){0};
    CU_ASSERT_EQUAL(buf_add_text(&body, text, NULL), 0);
    return request_read(content, &body, &pictures, err);
}

static void pictures_of_json_are_decoded_in_order(void) {
    struct taken t = {0};
    struct error err;
    CU_ASSERT_EQUAL(read_text(REQUEST_JSON,
                              "{\"signature_name\":\"x\",\"instances\":[{\"b64\":\"YWI=\"},"
                              "{\"key\":[1],\"b64\":\"YWJj\"},{\"b64\":\"\\u0059WI\"}]}",
                              &t, &err),
                    0);
    CU_ASSERT_STRING_EQUAL(t.text, "ab|abc|ab|");
    t = (struct taken){0};
    CU_ASSERT_EQUAL(read_text(REQUEST_PICTURE, "whole", &t, &err), 0);
    CU_ASSERT_STRING_EQUAL(t.text, "whole|");
}

static void wrong_json_is_an_error_that_says_what_is_expected(void) {
    const char *const wrong[][2] = {
        {"", "empty"},
        {"[]", "expected"},
        {"{}", "no \"instances\""},
        {"{\"instances\":[]}", "is empty"},
        {"{\"instances\":{}}", "\"instances\""},
        {"{\"instances\":[{\"b64\":\"YWI=\"}],\"instances\":[]}", "twice"},
        {"{\"instances\":[{\"b64\":\"YWI=\",\"b64\":\"YWI=\"}]}", "twice"},
        {"{\"instances\":[{\"b64\":\"YWI=\"},{}]}", "instance 1: no \"b64\""},
        {"{\"instances\":[{\"b64\":3}]}", "instance 0"},
        {"{\"instances\":[{\"b64\":\"Y!I=\"}]}", "character 2"},
        {"{\"instances\":[{\"b64\":\"YWIxY\"}]}", "group is incomplete"},
        {"{\"instances\":[{\"b64\":\"YWI=\"}]} x", "expected"},
        {"{\"instances\":[{\"b64\":\"YWI=\"}]", "expected"},
        {"{\"x\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", ""},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct taken t = {0};
        struct error err;
        CU_ASSERT_EQUAL(read_text(REQUEST_JSON, wrong[i][0], &t, &err), -1);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_DATA);
        ASSERT_CONTAINS(err.text, wrong[i][1]);
    }
    struct taken refusing = {.refuses = true};
    struct error err;
    CU_ASSERT_EQUAL(
        read_text(REQUEST_JSON, "{\"instances\":[{\"b64\":\"YWI=\"}]}", &refusing, &err), -1);
    CU_ASSERT_STRING_EQUAL(err.text, "instance 0: not a picture");
}

static void instances_are_limited(void) {
    cleanup_buf struct buf text = {.max = 1 << 20};
    struct taken t = {0};
    struct error err;
    (void)buf_add_text(&text, "{\"instances\":[{\"b64\":\"\"}", NULL);
    for (int i = 1; i < REQUEST_INSTANCES_MAX; i++)
        (void)buf_add_text(&text, ",{\"b64\":\"\"}", NULL);
    const size_t size = text.size;
    (void)buf_add_text(&text, "]}", NULL);
    CU_ASSERT_EQUAL(read_text(REQUEST_JSON, buf_text(&text), &t, &err), 0);
    text.size = size;
    (void)buf_add_text(&text, ",{\"b64\":\"\"}]}", NULL);
    CU_ASSERT_EQUAL(read_text(REQUEST_JSON, buf_text(&text), &t, &err), -1);
    ASSERT_CONTAINS(err.text, "more than 64 instances");
}

static void base64_is_that_of_the_rfc(void) {
    const char *const pairs[][2] = {
        {"", ""},           {"Zg==", "f"},         {"Zm8=", "fo"},        {"Zm9v", "foo"},
        {"Zm9vYg", "foob"}, {"Zm9vYmE=", "fooba"}, {"Zm9vYmFy", "foobar"}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        cleanup_buf struct buf out = {.max = 64};
        CU_ASSERT_EQUAL(base64_add(&out, pairs[i][0], strlen(pairs[i][0]), NULL), 0);
        CU_ASSERT_STRING_EQUAL(buf_text(&out), pairs[i][1]);
    }
    const char *const wrong[] = {"Z", "Zg=", "=", "====", "Zm9v=", "Zm 9", "Zm9-"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cleanup_buf struct buf out = {.max = 64};
        CU_ASSERT_EQUAL(base64_add(&out, wrong[i], strlen(wrong[i]), NULL), -1);
    }
}

UNIT_SUITE("serve.request_form", UNIT(content_type_decides_how_a_body_is_read),
           UNIT(accept_allows_json_and_may_ask_for_masks),
           UNIT(pictures_of_json_are_decoded_in_order),
           UNIT(wrong_json_is_an_error_that_says_what_is_expected), UNIT(instances_are_limited),
           UNIT(base64_is_that_of_the_rfc))
