/* Addresses for tests, by their text. */
#ifndef TESTS_SUPPORT_ADDRESSES_H
#define TESTS_SUPPORT_ADDRESSES_H

#include "common/net_address.h"
#include "tests/support/unit.h"

static inline struct net_address address_of(const char *text) {
    struct net_address address;
    CU_ASSERT_FATAL(net_address_parse(text, &address));
    return address;
}

#define ASSERT_ADDRESS(address, text)                                                              \
    do {                                                                                           \
        struct net_address wanted_ = address_of(text);                                             \
        CU_ASSERT(net_address_equal((address), &wanted_));                                         \
    } while (0)

#endif
