#include "common/json/json.h"
#include "entrypoint/outcome/quorum.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

static struct host_set set_of(unsigned bits) {
    return (struct host_set){.words = {bits}};
}

static struct quorum ledger_of(unsigned hosts) {
    return (struct quorum){
        .committed = {.number = 1, .master = 0, .hosts = set_of((1U << hosts) - 1)}};
}

static void more_than_half_goes_on_and_a_tie_with_its_master(void) {
    static const struct {
        unsigned hosts, part;
        bool may;
    } cases[] = {
        {1, 0x1, true},   {2, 0x1, true},   {2, 0x2, false}, {3, 0x6, true},   {3, 0x1, false},
        {3, 0x4, false},  {4, 0x3, true},   {4, 0xc, false}, {4, 0xe, true},   {5, 0x3, false},
        {5, 0x1c, true},  {5, 0x18, false}, {8, 0x0f, true}, {8, 0xf0, false}, {8, 0xf8, true},
        {8, 0x07, false}, {3, 0xf0, false}, {3, 0xf6, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct quorum l = ledger_of(cases[i].hosts);
        const struct host_set part = set_of(cases[i].part);
        CU_ASSERT_EQUAL(quorum_allows(&l, &part), cases[i].may);
    }
    const struct view nobody = {.number = 1};
    const struct host_set part = set_of(1);
    CU_ASSERT_FALSE(view_allows(&nobody, &part));
}

/* Every cut of a job of up to eight hosts into parts that do not hear each other. */
static void of_two_parts_never_both_go_on(void) {
    for (unsigned hosts = 1; hosts <= 8; hosts++) {
        const struct quorum l = ledger_of(hosts);
        unsigned all = (1U << hosts) - 1;
        unsigned tried = 0;
        for (unsigned one = 1; one <= all; one++)
            for (unsigned other = all & ~one; other != 0; other = (other - 1) & all & ~one) {
                const struct host_set a = set_of(one);
                const struct host_set b = set_of(other);
                CU_ASSERT_FALSE(quorum_allows(&l, &a) && quorum_allows(&l, &b));
                tried++;
            }
        CU_ASSERT(hosts == 1 || tried > 0);
    }
}

/* --- what is known ---------------------------------------------------------------------------- */

/* Hosts 3 and 4 of five have taken a view without 5 and do not know whether all have: their master
 * may act by it, so that they may not go on with 5 alone. */
static void a_view_that_may_have_been_taken_by_all_counts(void) {
    struct quorum l = ledger_of(5);
    const struct view next = {.number = 2, .master = 0, .hosts = set_of(0x0f)};
    CU_ASSERT(quorum_take(&l, &next));
    const struct host_set apart = set_of(0x1c);
    const struct host_set more = set_of(0x0e);
    CU_ASSERT_FALSE(quorum_allows(&l, &apart));
    CU_ASSERT(quorum_allows(&l, &more));
    CU_ASSERT_EQUAL(quorum_last(&l)->number, 2);
    CU_ASSERT_EQUAL(l.committed.number, 1);
    CU_ASSERT(quorum_commit(&l, 2));
    CU_ASSERT_EQUAL(l.committed.number, 2);
    CU_ASSERT_EQUAL(l.accepted_count, 0);
    CU_ASSERT_FALSE(quorum_commit(&l, 3));
    CU_ASSERT_FALSE(quorum_take(&l, &next));
}

static void who_learns_keeps_the_newest_and_all_that_is_open(void) {
    struct quorum l = ledger_of(5);
    struct quorum other = ledger_of(5);
    const struct view two = {.number = 2, .master = 0, .hosts = set_of(0x0f)};
    const struct view three = {.number = 3, .master = 1, .hosts = set_of(0x1e)};
    const struct view other_three = {.number = 3, .master = 2, .hosts = set_of(0x1c)};
    CU_ASSERT(quorum_take(&l, &two));
    CU_ASSERT(quorum_take(&other, &three));
    quorum_learn(&l, &other);
    CU_ASSERT_EQUAL(l.accepted_count, 2);
    quorum_learn(&l, &other);
    CU_ASSERT_EQUAL(l.accepted_count, 2);
    CU_ASSERT_EQUAL(quorum_last(&l)->number, 3);
    struct quorum third = ledger_of(5);
    CU_ASSERT(quorum_take(&third, &other_three));
    quorum_learn(&l, &third);
    CU_ASSERT_EQUAL(l.accepted_count, 3);
    CU_ASSERT(quorum_commit(&other, 3));
    quorum_learn(&l, &other);
    CU_ASSERT_EQUAL(l.committed.number, 3);
    CU_ASSERT_EQUAL(l.committed.master, 1);
    CU_ASSERT_EQUAL(l.accepted_count, 0);
}

static void too_many_open_rolls_let_nobody_go_on(void) {
    struct quorum l = ledger_of(3);
    const struct host_set all = set_of(0x7);
    for (unsigned i = 0; i < QUORUM_ACCEPTED_MAX; i++) {
        const struct view r = {.number = i + 2, .master = 0, .hosts = all};
        CU_ASSERT(quorum_take(&l, &r));
    }
    CU_ASSERT(quorum_allows(&l, &all));
    const struct view more = {.number = QUORUM_ACCEPTED_MAX + 2, .master = 0, .hosts = all};
    CU_ASSERT(quorum_take(&l, &more));
    CU_ASSERT_FALSE(quorum_allows(&l, &all));
    /* A host that learns of it may not go on by it either, until a later view is committed. */
    struct quorum other = ledger_of(3);
    quorum_learn(&other, &l);
    CU_ASSERT_FALSE(quorum_allows(&other, &all));
    CU_ASSERT(quorum_commit(&l, more.number));
    CU_ASSERT_EQUAL(l.accepted_count, 0);
    CU_ASSERT(quorum_allows(&l, &all));
    quorum_learn(&other, &l);
    CU_ASSERT(quorum_allows(&other, &all));
}

/* In whatever order views are learned, those with the highest numbers are kept, each once. */
static void what_there_is_no_room_for_is_the_oldest(void) {
    struct quorum l = ledger_of(3);
    for (unsigned number = QUORUM_ACCEPTED_MAX + 3; number >= 2; number--) {
        struct quorum other = ledger_of(3);
        const struct view r = {.number = number, .master = 0, .hosts = set_of(0x7)};
        CU_ASSERT(quorum_take(&other, &r));
        quorum_learn(&l, &other);
    }
    CU_ASSERT_EQUAL(l.accepted_count, QUORUM_ACCEPTED_MAX);
    CU_ASSERT_EQUAL(quorum_last(&l)->number, QUORUM_ACCEPTED_MAX + 3);
    CU_ASSERT_EQUAL(l.lost, 3);
    CU_ASSERT(quorum_commit(&l, 4));
    const struct host_set all = set_of(0x7);
    CU_ASSERT(quorum_allows(&l, &all));
}

/* --- the next master -------------------------------------------------------------------------- */

static void the_next_host_follows_as_long_as_enough_are_behind_it(void) {
    static const struct {
        unsigned hosts;
        size_t after;
        int next;
    } cases[] = {{2, 0, -1}, {3, 0, 1},  {3, 1, -1}, {4, 0, 1}, {4, 1, -1}, {5, 0, 1},
                 {5, 1, 2},  {5, 2, -1}, {8, 0, 1},  {8, 1, 2}, {8, 2, 3},  {8, 3, -1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct quorum l = ledger_of(cases[i].hosts);
        CU_ASSERT_EQUAL(quorum_next_master(&l, cases[i].after), cases[i].next);
    }
    struct quorum l = ledger_of(5);
    const struct view second = {.number = 2, .master = 1, .hosts = set_of(0x1a)};
    CU_ASSERT(quorum_take(&l, &second) && quorum_commit(&l, 2));
    CU_ASSERT_EQUAL(quorum_next_master(&l, 0), 3);
    struct host_set candidates;
    quorum_candidates(&l, 3, &candidates);
    CU_ASSERT_EQUAL(host_set_count(&candidates), 2);
    CU_ASSERT(host_set_has(&candidates, 3) && host_set_has(&candidates, 4));
    CU_ASSERT_FALSE(host_set_has(&candidates, CLUSTER_HOSTS_MAX + 5));
}

/* A host before the master in the order was lost and taken back: its turn comes after the last
 * host. */
static void behind_the_last_host_the_first_one_comes(void) {
    struct quorum l = ledger_of(4);
    const struct view second = {.number = 2, .master = 2, .hosts = set_of(0x0f)};
    struct host_set candidates;
    CU_ASSERT(quorum_take(&l, &second) && quorum_commit(&l, 2));
    CU_ASSERT_EQUAL(quorum_next_master(&l, 2), 3);
    quorum_candidates(&l, 3, &candidates);
    CU_ASSERT_EQUAL(candidates.words[0], 0x0b);
    CU_ASSERT_EQUAL(quorum_next_master(&l, 3), -1); /* two of four, without their master */
    l.committed.master = 3;
    CU_ASSERT_EQUAL(quorum_next_master(&l, 3), 0);
    CU_ASSERT_EQUAL(quorum_next_master(&l, 0), -1);
    l.committed.master = 2;
    l.committed.hosts = set_of(0x1f);
    CU_ASSERT_EQUAL(quorum_next_master(&l, 3), 4);
    CU_ASSERT_EQUAL(quorum_next_master(&l, 4), -1);
    quorum_candidates(&l, 0, &candidates);
    CU_ASSERT_EQUAL(candidates.words[0], 0x03);
}

/* --- on the wire ------------------------------------------------------------------------------ */

static void it_comes_back_as_it_went(void) {
    struct error err;
    struct quorum l = ledger_of(5);
    struct quorum got;
    host_set_add(&l.committed.hosts, CLUSTER_HOSTS_MAX - 1);
    const struct view two = {.number = 2, .master = 3, .hosts = set_of(0x0a)};
    CU_ASSERT(quorum_take(&l, &two));
    l.lost = 7;
    json_t *object = quorum_json(&l);
    CU_ASSERT_EQUAL(quorum_parse(object, CLUSTER_HOSTS_MAX, &got, &err), 0);
    json_decref(object);
    CU_ASSERT_EQUAL(got.committed.number, 1);
    CU_ASSERT_EQUAL(memcmp(&got.committed.hosts, &l.committed.hosts, sizeof(got.committed.hosts)),
                    0);
    CU_ASSERT_EQUAL(got.accepted_count, 1);
    CU_ASSERT_EQUAL(got.accepted[0].master, 3);
    CU_ASSERT_EQUAL(memcmp(&got.accepted[0].hosts, &two.hosts, sizeof(two.hosts)), 0);
    CU_ASSERT_EQUAL(got.lost, 7);
}

static void what_cannot_be_is_refused(void) {
    struct error err;
    struct quorum got;
    const struct quorum good = ledger_of(3);
    for (int wrong = 0; wrong < 10; wrong++) {
        json_t *object = quorum_json(&good);
        json_t *sure = json_object_get(object, "sure");
        json_t *many = json_array();
        for (int i = 0; i <= QUORUM_ACCEPTED_MAX; i++)
            (void)json_array_append(many, sure);
        switch (wrong) {
        case 0:
            (void)json_object_del(object, "sure");
            break;
        case 8:
            (void)json_object_del(object, "lost");
            break;
        case 9:
            (void)json_object_set_new(object, "lost", json_integer(INT64_MAX));
            break;
        case 1:
            (void)json_object_set_new(sure, "number", json_integer(0));
            break;
        case 2:
            (void)json_object_set_new(sure, "number", json_integer(INT64_MAX));
            break;
        case 3:
            (void)json_object_set_new(sure, "master", json_integer(3));
            break;
        case 4:
            (void)json_object_set_new(sure, "master", json_integer(-1));
            break;
        case 5:
            (void)json_object_set_new(sure, "hosts", json_string("7"));
            break;
        case 6:
            (void)json_object_set_new(sure, "hosts", json_integer(7));
            break;
        default:
            (void)json_object_set(object, "taken", many);
            break;
        }
        CU_ASSERT_NOT_EQUAL(quorum_parse(object, CLUSTER_HOSTS_MAX, &got, &err), 0);
        json_decref(many);
        json_decref(object);
    }
    CU_ASSERT_NOT_EQUAL(quorum_parse(NULL, CLUSTER_HOSTS_MAX, &got, &err), 0);
}

/* Arrays indexed by host have room only for the job's own hosts. */
static void hosts_that_the_job_never_had_are_refused(void) {
    struct error err = {0};
    struct quorum got;
    struct quorum good = ledger_of(3);
    const struct view later = {.number = 9, .hosts = {.words = {0x0f}}};
    cleanup_json json_t *three = quorum_json(&good);
    CU_ASSERT_EQUAL(quorum_parse(three, 3, &got, &err), 0);
    CU_ASSERT_NOT_EQUAL(quorum_parse(three, 2, &got, &err), 0);
    ASSERT_CONTAINS(err.text, "a view with an impossible number, master or host");
    CU_ASSERT_TRUE(quorum_take(&good, &later));
    cleanup_json json_t *four = quorum_json(&good);
    CU_ASSERT_NOT_EQUAL(quorum_parse(four, 3, &got, &err), 0);
    CU_ASSERT_EQUAL(quorum_parse(four, 4, &got, &err), 0);
}

UNIT_SUITE("outcome.quorum", UNIT(more_than_half_goes_on_and_a_tie_with_its_master),
           UNIT(of_two_parts_never_both_go_on), UNIT(a_view_that_may_have_been_taken_by_all_counts),
           UNIT(who_learns_keeps_the_newest_and_all_that_is_open),
           UNIT(too_many_open_rolls_let_nobody_go_on),
           UNIT(what_there_is_no_room_for_is_the_oldest),
           UNIT(the_next_host_follows_as_long_as_enough_are_behind_it),
           UNIT(behind_the_last_host_the_first_one_comes), UNIT(it_comes_back_as_it_went),
           UNIT(what_cannot_be_is_refused), UNIT(hosts_that_the_job_never_had_are_refused))
