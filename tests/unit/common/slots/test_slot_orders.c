#include "common/slots/slot_orders.h"

#include "common/slots/slots.h"
#include "tests/support/alone_group.h"
#include "tests/support/unit.h"

#include <string.h>

static void orders_say_what_starts_and_ends(void) {
    const struct slot_group group = alone_group();
    struct error err = {0};
    cleanup_slots struct slots s = {0};
    const char *const argv[] = {"true", NULL}, *const bad[] = {"\xff", NULL};
    CU_ASSERT_EQUAL_FATAL(slots_open(&s, &group, 3, &err), 0);
    const struct slot_job job = {1, 2, "/tmp", "name", argv, NULL},
                          wrong = {0, 1, "/tmp", "name", bad, NULL};
    CU_ASSERT_EQUAL(slot_orders_start(&s, &job, &err), 0);
    CU_ASSERT_EQUAL(slot_orders_end(&s, 0, 1, &err), 0);
    CU_ASSERT_TRUE(slot_orders_wait(s.orders));
    CU_ASSERT_EQUAL(slot_orders_leave(&s, &err), 0);
    CU_ASSERT_FALSE(slot_orders_wait(s.orders));
    const json_t *start = json_array_get(json_object_get(s.orders, "start"), 0);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(start, "first")), 1);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(start, "size")), 2);
    CU_ASSERT(json_integer_value(json_object_get(start, "port")) > 0);
    CU_ASSERT_EQUAL(slot_orders_start(&s, &wrong, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_USAGE);
}

UNIT_SUITE("common.slots.slot_orders", UNIT(orders_say_what_starts_and_ends))
