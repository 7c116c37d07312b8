#include "tests/support/unit.h"
#include "trainer/comm/comm.h"

#include <string.h>

static void one_rank_is_alone_and_sums_are_there_already(void) {
    cleanup_comm struct comm *c = NULL;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&c, NULL), 0);
    CU_ASSERT_EQUAL(comm_rank(c), 0);
    CU_ASSERT_EQUAL(comm_size(c), 1);
    CU_ASSERT_EQUAL(comm_local_rank(c), 0);
    CU_ASSERT_EQUAL(comm_local_size(c), 1);
    float values[3] = {1, 2, 3};
    CU_ASSERT_EQUAL(comm_sum(c, values, 3, COMM_F32, NULL), 0);
    CU_ASSERT(values[0] == 1 && values[1] == 2 && values[2] == 3);
    CU_ASSERT_EQUAL(comm_barrier(c, NULL), 0);
    CU_ASSERT_EQUAL(comm_broadcast(c, values, sizeof(values), 0, NULL), 0);
}

static void a_gather_of_one_is_a_copy(void) {
    cleanup_comm struct comm *c = NULL;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&c, NULL), 0);
    char all[6] = "";
    CU_ASSERT_EQUAL(comm_gather(c, "hello", 6, all, NULL), 0);
    CU_ASSERT_STRING_EQUAL(all, "hello");
}

static void a_broadcast_from_nobody_is_an_error(void) {
    cleanup_comm struct comm *c = NULL;
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&c, NULL), 0);
    struct error err = {0};
    char byte = 0;
    CU_ASSERT_EQUAL(comm_broadcast(c, &byte, 1, 1, &err), -1);
    ASSERT_CONTAINS(err.text, "rank 1 of 1");
}

static void a_single_rank_has_no_connections(void) {
    struct comm *c = NULL;
    struct error err = {0};
    CU_ASSERT_EQUAL_FATAL(comm_self_open(&c, &err), 0);
    const struct comm_part none = {0};
    const unsigned char stays = 0;
    CU_ASSERT_EQUAL(comm_socket(c, 0), -1);
    CU_ASSERT_EQUAL(comm_move(c, &none, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    CU_ASSERT_EQUAL(comm_narrow(c, &stays, &err), -1);
    comm_close(c);
}

UNIT_SUITE("comm.self", UNIT(one_rank_is_alone_and_sums_are_there_already),
           UNIT(a_gather_of_one_is_a_copy), UNIT(a_broadcast_from_nobody_is_an_error),
           UNIT(a_single_rank_has_no_connections))
