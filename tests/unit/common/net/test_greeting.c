#include "common/net/greeting.h"
#include "tests/support/unit.h"

#include <string.h>

static void what_is_written_is_read(void) {
    unsigned char bytes[GREETING_SIZE];
    struct greeting read;
    const struct greeting g = {.rank = 70000, .size = 80000, .port = 65535, .job = "0 train-7"};
    greeting_write(&g, bytes);
    CU_ASSERT_FATAL(greeting_read(bytes, &read));
    CU_ASSERT(read.rank == 70000 && read.size == 80000 && read.port == 65535);
    CU_ASSERT_STRING_EQUAL(read.job, "0 train-7");
}

static void other_bytes_are_no_greeting(void) {
    unsigned char bytes[GREETING_SIZE];
    struct greeting read;
    const struct greeting g = {.rank = 1, .size = 2, .job = "j"};
    greeting_write(&g, bytes);
    bytes[GREETING_SIZE - 1] = 'x';
    CU_ASSERT_FALSE(greeting_read(bytes, &read));
    greeting_write(&g, bytes);
    bytes[7]++;
    CU_ASSERT_FALSE(greeting_read(bytes, &read));
    memset(bytes, 'G', sizeof(bytes));
    CU_ASSERT_FALSE(greeting_read(bytes, &read));
    CU_ASSERT(read.size == 0 && read.job[0] == '\0');
}

static void ranks_of_this_job_may_join(void) {
    struct greeting g = {.rank = 3, .size = 4, .job = "j"};
    CU_ASSERT_EQUAL(greeting_answer(&g, "j", 1, 4), GREETING_WELCOME);
    CU_ASSERT_EQUAL(greeting_answer(&g, "k", 1, 4), GREETING_OTHER_JOB);
    CU_ASSERT_EQUAL(greeting_answer(&g, "j", 1, 5), GREETING_OTHER_SIZE);
    g.rank = 4;
    CU_ASSERT_EQUAL(greeting_answer(&g, "j", 1, 4), GREETING_RANK_TAKEN);
    g.rank = 0;
    CU_ASSERT_EQUAL(greeting_answer(&g, "j", 1, 4), GREETING_RANK_TAKEN);
    for (unsigned i = GREETING_OTHER_JOB; i < GREETING_ANSWERS; i++)
        CU_ASSERT_STRING_NOT_EQUAL(greeting_refusal(i), greeting_refusal(GREETING_ANSWERS));
}

static void places_keep_address_and_port(void) {
    unsigned char bytes[GREETING_PLACE_SIZE];
    struct net_address address, read;
    uint16_t port = 0;
    CU_ASSERT_FATAL(net_address_parse("fd00::12", &address));
    greeting_write_place(&address, 40001, bytes);
    greeting_read_place(bytes, &read, &port);
    CU_ASSERT(net_address_equal(&address, &read) && port == 40001);
}

UNIT_SUITE("common.net.greeting", UNIT(what_is_written_is_read), UNIT(other_bytes_are_no_greeting),
           UNIT(ranks_of_this_job_may_join), UNIT(places_keep_address_and_port))
