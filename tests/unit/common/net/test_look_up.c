#include "common/net/look_up.h"

#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>

static void addresses_and_local_names_are_found(void) {
    static const char *const names[] = {"127.0.0.1", "localhost"};
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct addrinfo *found = NULL;
        CU_ASSERT_FATAL(look_up_name(names[i], "7777", &hints, &found) == 0);
        const struct sockaddr_in *at = (const struct sockaddr_in *)(const void *)found->ai_addr;
        CU_ASSERT(at->sin_addr.s_addr == htonl(INADDR_LOOPBACK));
        CU_ASSERT(at->sin_port == htons(7777));
        freeaddrinfo(found);
    }
}

static void the_error_is_that_of_the_name(void) {
    const struct addrinfo numeric = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    CU_ASSERT(look_up_name("algo-1.nowhere", "7777", &numeric, &found) == EAI_NONAME);
    CU_ASSERT_PTR_NULL(found);
}

UNIT_SUITE("common.net.look_up", UNIT(addresses_and_local_names_are_found),
           UNIT(the_error_is_that_of_the_name))
