#include "common/net_address.h"
#include "entrypoint/job/cluster/local_names.h"
#include "tests/support/unit.h"

#include <string.h>

static void this_machine_has_an_address(void) {
    struct local_names own;
    CU_ASSERT_EQUAL(local_names_read(&own, NULL), 0);
    struct net_address address;
    CU_ASSERT(own.count > own.has_kernel_name);
    for (size_t i = own.has_kernel_name; i < own.count; i++)
        CU_ASSERT(net_address_parse(own.names[i].text, &address));
}

static void short_and_whole_names_are_one_host(void) {
    const struct local_names own = {
        .names = {{"node1"}, {"10.0.0.1"}}, .count = 2, .has_kernel_name = true};
    const struct host_name same[] = {{"node1"}, {"NODE1"}, {"node1.x.org"}, {"10.0.0.1"}};
    const struct host_name others[] = {{"node2"}, {"node"}, {"node10.x.org"}, {"10.0.0.2"}, {"10"}};
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        CU_ASSERT(local_names_has(&own, &same[i]));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        CU_ASSERT_FALSE(local_names_has(&own, &others[i]));
    const struct local_names whole = {
        .names = {{"node1.x.org"}}, .count = 1, .has_kernel_name = true};
    CU_ASSERT(local_names_has(&whole, &same[0]));
    CU_ASSERT_FALSE(local_names_has(&whole, &(struct host_name){"node1.y.org"}));
}

/* The list ends with dots where there is no room, and stays so. */
static void they_are_listed_as_far_as_there_is_room(void) {
    char text[HOST_NAME_LIST_SIZE];
    struct local_names own = {.names = {{"node1"}, {"10.0.0.1"}}, .count = 2};
    CU_ASSERT_STRING_EQUAL(local_names_text(&own, text), "node1, 10.0.0.1");
    memset(own.names[2].text, 'x', HOST_NAME_SIZE - 1);
    own.names[3] = own.names[2];
    own.names[4] = own.names[0];
    own.count = 5;
    (void)local_names_text(&own, text);
    CU_ASSERT_EQUAL(strlen(text),
                    strlen("node1, 10.0.0.1, ") + HOST_NAME_SIZE - 1 + strlen(", ..."));
    CU_ASSERT_STRING_EQUAL(text + strlen(text) - 6, "x, ...");
    own.count = 0;
    CU_ASSERT_STRING_EQUAL(local_names_text(&own, text), "");
}

UNIT_SUITE("job.local_names", UNIT(this_machine_has_an_address),
           UNIT(short_and_whole_names_are_one_host), UNIT(they_are_listed_as_far_as_there_is_room))
