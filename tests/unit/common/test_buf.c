#include "common/buf.h"
#include "tests/support/unit.h"

#include <stdint.h>
#include <string.h>

static void adds_grow_and_keep_a_nul_behind(void) {
    cleanup_buf struct buf b;
    buf_init(&b, 10000);
    CU_ASSERT_STRING_EQUAL(buf_text(&b), "");
    for (int i = 0; i < 1000; i++)
        CU_ASSERT_EQUAL_FATAL(buf_add_text(&b, "0123456789", NULL), 0);
    CU_ASSERT_EQUAL(b.size, 10000);
    CU_ASSERT_EQUAL(b.data[10000], '\0');
}

static void the_ceiling_holds_at_max_and_max_plus_one(void) {
    cleanup_buf struct buf b;
    buf_init(&b, 4);
    struct error err = {0};
    CU_ASSERT_EQUAL(buf_add(&b, "abcd", 4, &err), 0);
    CU_ASSERT_EQUAL(buf_add(&b, "e", 1, &err), -1);
    ASSERT_CONTAINS(err.text, "more than 4 bytes");
    CU_ASSERT_STRING_EQUAL(buf_text(&b), "abcd");
    CU_ASSERT_EQUAL(buf_reserve(&b, SIZE_MAX, &err), -1);
}

/* A reserve of exactly what is left of a capacity leaves no room for the NUL: it has to grow. */
static void the_nul_has_room_of_its_own(void) {
    for (size_t extra = 250; extra < 260; extra++) {
        cleanup_buf struct buf b;
        buf_init(&b, 10000);
        CU_ASSERT_EQUAL_FATAL(buf_reserve(&b, extra, NULL), 0);
        CU_ASSERT(b.capacity >= extra + 1);
        CU_ASSERT_EQUAL_FATAL(buf_add(&b, "x", 1, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(buf_reserve(&b, extra, NULL), 0);
        CU_ASSERT(b.capacity >= 1 + extra + 1);
    }
}

/* It doubles, but is never greater than its ceiling and the NUL. */
static void capacity_doubles_up_to_the_ceiling(void) {
    cleanup_buf struct buf b;
    buf_init(&b, 1500);
    static const struct {
        size_t size, capacity;
    } steps[] = {{1, 256},    {255, 256},   {256, 512},  {511, 512},
                 {512, 1024}, {1024, 1501}, {1500, 1501}};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        CU_ASSERT_EQUAL_FATAL(buf_reserve(&b, steps[i].size, NULL), 0);
        CU_ASSERT_EQUAL(b.capacity, steps[i].capacity);
    }
    cleanup_buf struct buf small;
    buf_init(&small, 4);
    CU_ASSERT_EQUAL_FATAL(buf_reserve(&small, 4, NULL), 0);
    CU_ASSERT(small.capacity >= 5);
}

static void printf_formats_in_place(void) {
    cleanup_buf struct buf b;
    buf_init(&b, 64);
    CU_ASSERT_EQUAL(buf_printf(&b, NULL, "%s=%d", "a", 12), 0);
    CU_ASSERT_EQUAL(buf_printf(&b, NULL, ";%c", 'x'), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&b), "a=12;x");
}

static void consume_drops_from_the_front(void) {
    cleanup_buf struct buf b;
    buf_init(&b, 64);
    buf_add_text(&b, "hello", NULL);
    buf_consume(&b, 2);
    CU_ASSERT_STRING_EQUAL(buf_text(&b), "llo");
    CU_ASSERT_EQUAL(b.size, 3);
    buf_consume(&b, 99);
    CU_ASSERT_EQUAL(b.size, 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&b), "");
}

static void a_zeroed_buffer_can_be_finished_and_holds_nothing(void) {
    struct buf b = {0};
    CU_ASSERT_EQUAL(buf_add(&b, "x", 1, NULL), -1);
    buf_done(&b);
    buf_done(&b);
}

static void a_slim_buffer_keeps_what_it_holds_and_little_room(void) {
    static char much[5000];
    cleanup_buf struct buf b;
    buf_init(&b, 6000);
    CU_ASSERT_EQUAL(buf_add(&b, much, sizeof(much), NULL), 0);
    buf_slim(&b);
    CU_ASSERT_EQUAL(b.size, sizeof(much));
    buf_consume(&b, sizeof(much));
    buf_slim(&b);
    CU_ASSERT_EQUAL(b.capacity, 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&b), "");
    CU_ASSERT_EQUAL(buf_add(&b, "abc", 3, NULL), 0);
    buf_consume(&b, 3);
    size_t little = b.capacity;
    buf_slim(&b);
    CU_ASSERT_EQUAL(b.capacity, little);
    CU_ASSERT_EQUAL(buf_reserve(&b, 6001, NULL), -1);
}

UNIT_SUITE("common.buf", UNIT(a_slim_buffer_keeps_what_it_holds_and_little_room),
           UNIT(adds_grow_and_keep_a_nul_behind), UNIT(the_ceiling_holds_at_max_and_max_plus_one),
           UNIT(the_nul_has_room_of_its_own), UNIT(capacity_doubles_up_to_the_ceiling),
           UNIT(printf_formats_in_place), UNIT(consume_drops_from_the_front),
           UNIT(a_zeroed_buffer_can_be_finished_and_holds_nothing))
