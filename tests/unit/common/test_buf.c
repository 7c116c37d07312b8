#include "common/buf.h"
#include "support/unit.h"

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

UNIT_MAIN("common.buf", UNIT(adds_grow_and_keep_a_nul_behind),
          UNIT(the_ceiling_holds_at_max_and_max_plus_one), UNIT(printf_formats_in_place),
          UNIT(consume_drops_from_the_front),
          UNIT(a_zeroed_buffer_can_be_finished_and_holds_nothing))
