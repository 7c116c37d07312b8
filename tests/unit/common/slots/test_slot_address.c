#include "common/slots/slot_address.h"

#include "common/net_address.h"
#include "tests/support/unit.h"

#include <string.h>
#include <unistd.h>

static void the_way_to_the_master_has_an_address(void) {
    char own[64] = "", name[64] = "";
    struct net_address address;
    slot_address_own("127.0.0.1", own, sizeof(own));
    CU_ASSERT_TRUE(net_address_parse(own, &address));
    CU_ASSERT_STRING_EQUAL(own, "127.0.0.1");
    (void)gethostname(name, sizeof(name) - 1);
    slot_address_own(NULL, own, sizeof(own));
    CU_ASSERT_STRING_EQUAL(own, name);
    slot_address_own("", own, sizeof(own));
    CU_ASSERT_STRING_EQUAL(own, name);
}

static void a_port_is_free(void) {
    struct error err = {0};
    const int port = slot_address_port(&err);
    CU_ASSERT(port > 0 && port < 65536);
}

UNIT_SUITE("common.slots.slot_address", UNIT(the_way_to_the_master_has_an_address),
           UNIT(a_port_is_free))
