#include "entrypoint/job/cluster/seats.h"

#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

enum { HOSTS = 8 };

static struct cluster_host hosts[HOSTS];
static struct cluster c;

/* Sets up COUNT hosts with two ranks each, of which SPARES are spares. */
static void begin(size_t count, size_t spares) {
    memset(hosts, 0, sizeof(hosts));
    c = (struct cluster){.hosts = hosts, .count = count};
    for (size_t i = 0; i < count; i++)
        hosts[i].slots = 2;
    CU_ASSERT_EQUAL_FATAL(seats_open(&c, spares, NULL), 0);
}

static void lose(size_t host) {
    cluster_drop(&c, host);
    seats_fill(&c, false);
}

static void the_last_hosts_are_spares(void) {
    begin(5, 2);
    CU_ASSERT_EQUAL(seats_count(&c), 3);
    CU_ASSERT_EQUAL(seats_spares_left(&c), 2);
    CU_ASSERT_EQUAL(cluster_hosts_left(&c), 3);
    CU_ASSERT_EQUAL(cluster_ranks(&c), 6);
    CU_ASSERT_EQUAL(cluster_host_of_rank(&c, 5), 2);
    CU_ASSERT_EQUAL(cluster_number(&c, 4), 3);
    struct error err = {0};
    CU_ASSERT_EQUAL(seats_open(&c, 5, &err), -1);
    CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
    ASSERT_CONTAINS(err.text, "RINGMASTER_SPARES=5: the job has 5 hosts");
}

static void a_spare_takes_a_lost_hosts_ranks(void) {
    begin(4, 1);
    lose(1);
    CU_ASSERT_EQUAL(cluster_ranks(&c), 6);
    static const size_t expected[] = {0, 0, 3, 3, 2, 2};
    for (size_t rank = 0; rank < 6; rank++)
        CU_ASSERT_EQUAL(cluster_host_of_rank(&c, rank), expected[rank]);
    CU_ASSERT_EQUAL(cluster_first_rank(&c, 3), 2);
    CU_ASSERT_EQUAL(cluster_number(&c, 2), 2);
    CU_ASSERT_EQUAL(seats_spares_left(&c), 0);
    lose(0); /* no spare is left for it: the others move up */
    CU_ASSERT_EQUAL(cluster_ranks(&c), 4);
    CU_ASSERT_EQUAL(cluster_host_of_rank(&c, 0), 3);
    CU_ASSERT_EQUAL(cluster_host_of_rank(&c, 2), 2);
    hosts[1].gone = false; /* it is back: being a spare, it takes the empty seat */
    seats_fill(&c, false);
    CU_ASSERT_EQUAL(cluster_host_of_rank(&c, 0), 1);
    CU_ASSERT_EQUAL(cluster_host_of_rank(&c, 2), 3);
    CU_ASSERT_EQUAL(cluster_host_of_rank(&c, 4), 2);
}

static void who_returns_to_an_empty_seat_keeps_it(void) {
    begin(4, 1);
    lose(3);
    CU_ASSERT_EQUAL(cluster_ranks(&c), 6);
    lose(1);
    CU_ASSERT_EQUAL(cluster_ranks(&c), 4);
    hosts[1].gone = false;
    seats_fill(&c, false);
    CU_ASSERT_EQUAL(cluster_host_of_rank(&c, 2), 1);
}

static void a_spare_with_as_many_slots_comes_first(void) {
    begin(5, 2);
    hosts[3].slots = 8;
    lose(1);
    CU_ASSERT_EQUAL(cluster_host_of_rank(&c, 2), 4);
    lose(2);
    CU_ASSERT_EQUAL(cluster_host_of_rank(&c, 4), 3);
    CU_ASSERT_EQUAL(cluster_ranks(&c), 12);
}

/* mpirun gives the first host the first ranks. After a failover the hosts are sorted again. */
static void the_first_host_gets_the_first_ranks_if_asked(void) {
    begin(4, 1);
    cluster_drop(&c, 0);
    struct cluster_host lost = hosts[0];
    hosts[0] = hosts[1];
    hosts[1] = lost;
    seats_fill(&c, true);
    CU_ASSERT_EQUAL(cluster_host_of_rank(&c, 0), 0);
    CU_ASSERT_EQUAL(cluster_host_of_rank(&c, 2), 3);
    CU_ASSERT_EQUAL(cluster_host_of_rank(&c, 4), 2);
    begin(4, 1);
    struct cluster_host spare = hosts[3];
    hosts[3] = hosts[0];
    hosts[0] = spare; /* the spare leads */
    seats_fill(&c, true);
    CU_ASSERT_EQUAL(cluster_host_of_rank(&c, 0), 0);
    CU_ASSERT(hosts[3].spare);
    CU_ASSERT_EQUAL(cluster_ranks(&c), 6);
}

static void an_order_says_it_all(void) {
    begin(4, 1);
    lose(1);
    json_t *order = json_pack("{s:[i], s:o}", "gone", 1, "seats", seats_json(&c));
    begin(4, 1);
    hosts[2].gone = true; /* what this host believed before */
    seats_read(&c, order);
    CU_ASSERT(hosts[1].gone && hosts[1].spare && !hosts[2].gone && !hosts[3].spare);
    CU_ASSERT_EQUAL(cluster_host_of_rank(&c, 2), 3);
    json_decref(order);
    static const char *const bad[] = {"{\"seats\": 7}",
                                      "{\"seats\": [[9, 0], [0, 9], [-1, 0], [0, -1], 7, []]}",
                                      "{\"gone\": [0, -1, 9, \"x\"]}", "{}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        json_t *text = json_loads(bad[i], 0, NULL);
        seats_read(&c, text);
        for (size_t k = 0; k < 4; k++)
            CU_ASSERT(!hosts[k].gone && hosts[k].seat < 4);
        json_decref(text);
    }
}

static void without_spares_nothing_has_a_seat(void) {
    begin(3, 0);
    hosts[0].seat = 2; /* has no meaning without spares */
    lose(1);
    CU_ASSERT_EQUAL(cluster_host_of_rank(&c, 0), 0);
    CU_ASSERT_EQUAL(cluster_host_of_rank(&c, 2), 2);
    CU_ASSERT_EQUAL(cluster_ranks(&c), 4);
}

/* Hosts are lost and come back at random, several at a time, before seats are assigned. */
static void whoever_stays_keeps_its_seat(void) {
    srand(7);
    for (int run = 0; run < 2000; run++) {
        size_t count = 2 + (size_t)(rand() % (HOSTS - 1));
        begin(count, (size_t)rand() % count);
        for (int turn = 0; turn < 20; turn++) {
            struct cluster_host before[HOSTS];
            memcpy(before, hosts, sizeof(before));
            size_t present = 0;
            for (size_t i = 0; i < count; i++) {
                hosts[i].gone = i > 0 && rand() % 3 == 0;
                present += !hosts[i].gone;
            }
            seats_fill(&c, false);
            size_t seats = seats_count(&c);
            if (c.spares > 0)
                CU_ASSERT_EQUAL(cluster_hosts_left(&c), present < seats ? present : seats);
            unsigned taken = 0;
            for (size_t i = 0; i < count; i++) {
                if (!before[i].spare && !hosts[i].gone)
                    CU_ASSERT(!hosts[i].spare && hosts[i].seat == before[i].seat);
                if (!hosts[i].spare) {
                    CU_ASSERT_FALSE(taken >> hosts[i].seat & 1);
                    taken |= 1U << hosts[i].seat;
                }
            }
            CU_ASSERT_EQUAL((size_t)__builtin_popcount(taken), seats);
            size_t order[CLUSTER_HOSTS_MAX];
            size_t left = cluster_order(&c, order);
            for (size_t i = 0, rank = 0; i < left; rank += hosts[order[i++]].slots) {
                CU_ASSERT_EQUAL(cluster_first_rank(&c, order[i]), rank);
                CU_ASSERT_EQUAL(cluster_number(&c, order[i]), i);
                CU_ASSERT_EQUAL(cluster_host_of_rank(&c, rank + 1), order[i]);
            }
        }
    }
}

UNIT_SUITE("job.seats", UNIT(the_last_hosts_are_spares), UNIT(a_spare_takes_a_lost_hosts_ranks),
           UNIT(who_returns_to_an_empty_seat_keeps_it),
           UNIT(a_spare_with_as_many_slots_comes_first),
           UNIT(the_first_host_gets_the_first_ranks_if_asked), UNIT(an_order_says_it_all),
           UNIT(without_spares_nothing_has_a_seat), UNIT(whoever_stays_keeps_its_seat))
