#include "entrypoint/wire/send_queue.h"

#include "entrypoint/wire/frame.h"
#include "tests/support/unit.h"

#include <string.h>

enum { CEILING = 4 * 1024 * 1024 };

static struct send_queue q;

static void add(int number, size_t filler) {
    static char text[60000];
    struct error err;
    memset(text, 'x', sizeof(text));
    json_t *message = frame_new("line");
    (void)json_object_set_new(message, "number", json_integer(number));
    (void)json_object_set_new(message, "text", json_stringn(text, filler));
    CU_ASSERT_EQUAL(send_queue_put(&q, message, &err), 0);
    json_decref(message);
}

/* Writes what may be written, and returns how much that was. */
static size_t write_now(void) {
    const char *bytes;
    size_t all = 0;
    for (size_t size; (size = send_queue_ready(&q, &bytes)) > 0; all += size) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
        send_queue_wrote(&q, size);
    }
    return all;
}

/* The number of the first message that would be written now; -1: none would. */
static int next_number(void) {
    const char *bytes;
    struct error err;
    struct buf in;
    json_t *message = NULL;
    size_t size = send_queue_ready(&q, &bytes);
    buf_init(&in, CEILING);
    if (size > 0)
        CU_ASSERT_EQUAL(buf_add(&in, bytes, size, &err), 0);
    int number = -1;
    if (size > 0 && frame_take(&in, &message, &err) == 1)
        number = (int)json_integer_value(json_object_get(message, "number"));
    json_decref(message);
    buf_done(&in);
    return number;
}

static void what_was_written_is_kept_until_it_is_acknowledged(void) {
    send_queue_init(&q, CEILING, true);
    for (int i = 0; i < 5; i++)
        add(i, 10);
    CU_ASSERT(write_now() > 0);
    CU_ASSERT_EQUAL(send_queue_waiting(&q), 0);
    CU_ASSERT(send_queue_acknowledge(&q, 2));
    CU_ASSERT_EQUAL(next_number(), -1);
    CU_ASSERT(send_queue_rewind(&q, 3));
    CU_ASSERT_EQUAL(next_number(), 3);
    CU_ASSERT(write_now() > 0);
    CU_ASSERT(send_queue_acknowledge(&q, 5));
    CU_ASSERT_EQUAL(q.bytes.size, 0);
    CU_ASSERT(send_queue_rewind(&q, 5));
    CU_ASSERT_EQUAL(next_number(), -1);
    send_queue_done(&q);
}

static void a_message_that_was_written_in_part_is_sent_whole_again(void) {
    send_queue_init(&q, CEILING, true);
    add(0, 10);
    add(1, 10);
    const char *bytes;
    size_t both = send_queue_ready(&q, &bytes);
    send_queue_wrote(&q, both - 3);
    CU_ASSERT_EQUAL(send_queue_waiting(&q), 3);
    CU_ASSERT_FALSE(send_queue_acknowledge(&q, 2)); /* the peer cannot have it */
    CU_ASSERT(send_queue_rewind(&q, 1));
    CU_ASSERT_EQUAL(next_number(), 1);
    send_queue_done(&q);
}

static void numbers_that_cannot_be_are_refused(void) {
    send_queue_init(&q, CEILING, true);
    add(0, 10);
    CU_ASSERT_FALSE(send_queue_acknowledge(&q, 1)); /* not written */
    CU_ASSERT(write_now() > 0);
    CU_ASSERT_FALSE(send_queue_acknowledge(&q, 2));
    CU_ASSERT_FALSE(send_queue_acknowledge(&q, UINT64_MAX));
    CU_ASSERT(send_queue_acknowledge(&q, 1));
    CU_ASSERT(send_queue_acknowledge(&q, 0));  /* an old word, sent again */
    CU_ASSERT_FALSE(send_queue_rewind(&q, 0)); /* gone by then */
    send_queue_done(&q);
}

static void a_peer_that_acknowledges_nothing_is_sent_one_window(void) {
    send_queue_init(&q, CEILING, true);
    for (int i = 0; i < 40; i++)
        add(i, 60000);
    CU_ASSERT_EQUAL(write_now(), SEND_QUEUE_WINDOW);
    CU_ASSERT(send_queue_waiting(&q) > 0);
    CU_ASSERT(send_queue_acknowledge(&q, 10));
    CU_ASSERT(write_now() > 10 * 60000);
    send_queue_done(&q);
}

/* What was written and not acknowledged takes no room from what waits. */
static void what_waits_has_a_ceiling(void) {
    struct error err;
    json_t *message = frame_new("line");
    send_queue_init(&q, 100000, true);
    for (int i = 0; i < 10; i++) {
        add(i, 60000);
        CU_ASSERT(write_now() > 0);
    }
    add(10, 60000);
    size_t before = send_queue_waiting(&q);
    (void)json_object_set_new(message, "text", json_stringn(q.bytes.data + 100, 50000));
    CU_ASSERT_EQUAL(send_queue_put(&q, message, &err), -1);
    CU_ASSERT_EQUAL(send_queue_waiting(&q), before);
    json_decref(message);
    send_queue_done(&q);
}

static void without_a_peer_that_acknowledges_nothing_is_kept(void) {
    send_queue_init(&q, CEILING, false);
    for (int i = 0; i < 60; i++)
        add(i, 60000);
    CU_ASSERT(write_now() > 3 * SEND_QUEUE_WINDOW);
    CU_ASSERT_EQUAL(q.bytes.size, 0);
    CU_ASSERT_FALSE(send_queue_acknowledge(&q, 1));
    send_queue_done(&q);
}

UNIT_SUITE("wire.send_queue", UNIT(what_was_written_is_kept_until_it_is_acknowledged),
           UNIT(a_message_that_was_written_in_part_is_sent_whole_again),
           UNIT(numbers_that_cannot_be_are_refused),
           UNIT(a_peer_that_acknowledges_nothing_is_sent_one_window),
           UNIT(what_waits_has_a_ceiling), UNIT(without_a_peer_that_acknowledges_nothing_is_kept))
