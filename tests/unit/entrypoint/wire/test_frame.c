#include "entrypoint/wire/frame.h"

#include "tests/support/unit.h"

#include <string.h>

static void put_raw(struct buf *out, const char *text) {
    size_t size = strlen(text);
    unsigned char header[4] = {0, 0, (unsigned char)(size >> 8), (unsigned char)size};
    CU_ASSERT_EQUAL(buf_add(out, header, sizeof(header), NULL), 0);
    CU_ASSERT_EQUAL(buf_add(out, text, size, NULL), 0);
}

static void frames_arrive_whole_however_they_are_cut(void) {
    struct buf sent;
    struct buf in;
    struct error err = {0};
    buf_init(&sent, 4096);
    buf_init(&in, 4096);
    for (int i = 0; i < 3; i++) {
        json_t *message = frame_new("beat");
        (void)json_object_set_new(message, "number", json_integer(i));
        CU_ASSERT_EQUAL(frame_put(&sent, message, &err), 0);
        json_decref(message);
    }
    int taken = 0;
    for (size_t i = 0; i < sent.size; i++) {
        CU_ASSERT_EQUAL(buf_add(&in, sent.data + i, 1, &err), 0);
        json_t *message = NULL;
        int got = frame_take(&in, &message, &err);
        if (got == 0)
            continue;
        CU_ASSERT_EQUAL_FATAL(got, 1);
        CU_ASSERT_STRING_EQUAL(frame_type(message), "beat");
        CU_ASSERT_EQUAL(json_integer_value(json_object_get(message, "number")), taken);
        json_decref(message);
        taken++;
    }
    CU_ASSERT_EQUAL(taken, 3);
    CU_ASSERT_EQUAL(in.size, 0);
    buf_done(&in);
    buf_done(&sent);
}

static void is_refused(const char *text, const char *why) {
    struct buf in;
    struct error err = {0};
    json_t *message = NULL;
    buf_init(&in, 4096);
    put_raw(&in, text);
    CU_ASSERT_EQUAL(frame_take(&in, &message, &err), -1);
    ASSERT_CONTAINS(err.text, why);
    CU_ASSERT_PTR_NULL(message);
    buf_done(&in);
}

static void what_is_no_message_is_refused(void) {
    is_refused("", "message");
    is_refused("{", "message");
    is_refused("[1]", "begin with its version");
    is_refused("{}", "begin with its version");
    is_refused("{\"type\":\"beat\",\"v\":1}", "begin with its version");
    is_refused("{\"v\":0,\"type\":\"beat\"}", "no version");
    is_refused("{\"v\":\"1\",\"type\":\"beat\"}", "no version");
    is_refused("{\"v\":1}", "no type");
    is_refused("{\"v\":1,\"type\":7}", "no type");
    is_refused("{\"v\":1,\"type\":\"a\",\"type\":\"b\"}", "message");
}

static void another_version_is_reported_and_both_are_named(void) {
    struct buf in;
    struct error err = {0};
    json_t *message = NULL;
    buf_init(&in, 4096);
    put_raw(&in, "{\"v\":1,\"type\":\"join\",\"host\":\"algo-2\"}");
    CU_ASSERT_EQUAL_FATAL(frame_take(&in, &message, &err), 1);
    CU_ASSERT_EQUAL(frame_version(message), 1);
    CU_ASSERT_EQUAL(frame_error_version(&err, "algo-2", frame_version(message)), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "algo-2 speaks version 1 of the control link, this host version 4");
    json_decref(message);
    json_t *ours = frame_new("beat");
    CU_ASSERT_EQUAL(frame_version(ours), FRAME_VERSION);
    json_decref(ours);
    json_t *theirs = frame_new_for(1, "refuse");
    CU_ASSERT_EQUAL(frame_version(theirs), 1);
    json_decref(theirs);
    buf_done(&in);
}

static void a_message_above_the_ceiling_is_not_sent(void) {
    static char text[FRAME_MAX];
    struct buf out;
    struct error err = {0};
    memset(text, 'x', sizeof(text));
    buf_init(&out, 4 * FRAME_MAX);
    json_t *message = frame_new("line");
    (void)json_object_set_new(message, "text", json_stringn(text, FRAME_MAX - 100));
    CU_ASSERT_EQUAL(frame_put(&out, message, &err), 0);
    size_t before = out.size;
    (void)json_object_set_new(message, "text", json_stringn(text, FRAME_MAX));
    CU_ASSERT_EQUAL(frame_put(&out, message, &err), -1);
    ASSERT_CONTAINS(err.text, "above the 65536 allowed");
    CU_ASSERT_EQUAL(out.size, before);
    json_decref(message);
    buf_done(&out);
}

static void a_length_above_the_ceiling_is_refused_at_once(void) {
    struct buf in;
    struct error err = {0};
    json_t *message = NULL;
    buf_init(&in, 4096);
    CU_ASSERT_EQUAL(buf_add(&in, "\0\1\0\1", 4, &err), 0);
    CU_ASSERT_EQUAL(frame_take(&in, &message, &err), -1);
    ASSERT_CONTAINS(err.text, "65537 bytes");
    buf_done(&in);
}

static void a_full_queue_takes_no_part_of_a_frame(void) {
    struct buf out;
    struct error err = {0};
    buf_init(&out, 64);
    json_t *message = frame_new("a type that is quite long");
    CU_ASSERT_EQUAL(frame_put(&out, message, &err), 0);
    size_t before = out.size;
    CU_ASSERT_EQUAL(frame_put(&out, message, &err), -1);
    CU_ASSERT_EQUAL(out.size, before);
    json_decref(message);
    buf_done(&out);
}

static void members_come_all_or_not_at_all(void) {
    json_t *message = frame_with("beat", json_pack("{s:i}", "time", 7));
    CU_ASSERT_STRING_EQUAL(frame_type(message), "beat");
    CU_ASSERT_EQUAL(frame_version(message), FRAME_VERSION);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(message, "time")), 7);
    json_decref(message);
    CU_ASSERT_PTR_NULL(frame_with("beat", NULL));
}

UNIT_SUITE("wire.frame", UNIT(members_come_all_or_not_at_all),
           UNIT(frames_arrive_whole_however_they_are_cut), UNIT(what_is_no_message_is_refused),
           UNIT(another_version_is_reported_and_both_are_named),
           UNIT(a_message_above_the_ceiling_is_not_sent),
           UNIT(a_length_above_the_ceiling_is_refused_at_once),
           UNIT(a_full_queue_takes_no_part_of_a_frame))
