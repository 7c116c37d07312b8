#include "common/slots/slot_group.h"

#include "tests/support/unit.h"

static void alone_it_hears_itself(void) {
    struct error err = {0};
    const struct slot_group g = slot_group_alone();
    int own = 7, all = 0;
    CU_ASSERT_EQUAL(g.rank, 0);
    CU_ASSERT_EQUAL(g.size, 1);
    CU_ASSERT_EQUAL(g.local_size, 1);
    CU_ASSERT_EQUAL(g.gather(g.context, &own, sizeof(own), &all, &err), 0);
    CU_ASSERT_EQUAL(all, 7);
    CU_ASSERT_EQUAL(g.broadcast(g.context, &own, sizeof(own), &err), 0);
    CU_ASSERT_EQUAL(own, 7);
}

UNIT_SUITE("common.slots.slot_group", UNIT(alone_it_hears_itself))
