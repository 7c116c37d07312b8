#include "entrypoint/evidence/stuck.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

/* The finding is a sentence for the log and the failure file, so most cases compare the whole text.
 * Ranks are made by hand, as their hosts would report them: in a collective operation, at a place,
 * with an exception, or unknown. The cases go from the strongest sign to the weakest, in the order
 * in which stuck_find() looks for them. */

/* A rank on HOST with stacks that were read; "" for what they do not show. */
static struct stuck_rank at(const char *host, const char *collective, const char *place) {
    struct stuck_rank r = {.host = host, .known = true};
    (void)snprintf(r.at.collective, sizeof(r.at.collective), "%s", collective);
    (void)snprintf(r.at.place, sizeof(r.at.place), "%s", place);
    return r;
}

/* The place of the late rank is the clue for the user. The places of the others are not compared,
 * as their operation tells more. */
static void the_rank_that_has_not_come_is_named(void) {
    struct stuck_finding f;
    const struct stuck_rank ranks[] = {at("algo-1", "MPI_Allreduce", "a"),
                                       at("algo-2", "", "clock_nanosleep < sleep < main"),
                                       at("algo-3", "MPI_Allreduce", "b")};
    CU_ASSERT_TRUE(stuck_find(ranks, 3, &f));
    CU_ASSERT_EQUAL(f.rank, 1);
    CU_ASSERT_STRING_EQUAL(f.text, "2 of 3 ranks wait in MPI_Allreduce; rank 1 on algo-2 has not "
                                   "come: it is at clock_nanosleep < sleep < main");
}

/* With an operation's name, one rank that waits proves that the other one is late, even if nothing
 * is known of that. */
static void two_ranks_are_enough(void) {
    struct stuck_finding f;
    const struct stuck_rank ranks[] = {at("a", "", ""), at("a", "barrier", "")};
    CU_ASSERT_TRUE(stuck_find(ranks, 2, &f));
    CU_ASSERT_EQUAL(f.rank, 0);
    CU_ASSERT_STRING_EQUAL(f.text, "1 of 2 ranks wait in barrier; rank 0 on a has not come: where "
                                   "it is could not be read");
}

/* Ranks in different operations are a fault of the program, and the minority is named. */
static void other_operations_are_reported(void) {
    struct stuck_finding f;
    const struct stuck_rank ranks[] = {at("a", "all_reduce", ""), at("a", "all_reduce", ""),
                                       at("b", "barrier", "")};
    CU_ASSERT_TRUE(stuck_find(ranks, 3, &f));
    CU_ASSERT_STRING_EQUAL(f.text, "2 of 3 ranks wait in all_reduce; rank 2 on b has not come: it "
                                   "is in barrier");
}

/* A host that has not answered is unknown, and a program that has ended can never come. The first
 * absent rank is described. */
static void ends_and_silent_hosts_are_distinguished(void) {
    struct stuck_finding f;
    struct stuck_rank ranks[] = {at("a", "barrier", ""), {.host = "b"}, {.host = "c"}};
    ranks[2].ended = true;
    CU_ASSERT_TRUE(stuck_find(ranks, 3, &f));
    CU_ASSERT_STRING_EQUAL(f.text, "1 of 3 ranks wait in barrier; ranks 1 and 2 on b, c have not "
                                   "come: of rank 1, its host has not answered");
    ranks[1] = at("b", "barrier", "");
    CU_ASSERT_TRUE(stuck_find(ranks, 3, &f));
    ASSERT_CONTAINS(f.text, "rank 2 on c has not come: its program has ended");
}

/* Then no rank is late, and the network or the GPUs are to blame: no rank is named. */
static void all_in_one_operation_is_its_own_case(void) {
    struct stuck_finding f;
    const struct stuck_rank ranks[] = {at("a", "barrier", ""), at("a", "barrier", "")};
    CU_ASSERT_TRUE(stuck_find(ranks, 2, &f));
    CU_ASSERT_EQUAL(f.rank, -1);
    CU_ASSERT_STRING_EQUAL(f.text, "all 2 ranks are in barrier, and it does not end");
}

/* Without names of operations only a clear minority is set apart: one of three is, one of two is
 * not, and neither is anybody where all are alike. */
static void one_elsewhere_among_many_is_named(void) {
    struct stuck_finding f;
    struct stuck_rank ranks[] = {at("a", "", "waiting in poll"), at("a", "", "waiting in poll"),
                                 at("b", "", "waiting in futex")};
    CU_ASSERT_TRUE(stuck_find(ranks, 3, &f));
    CU_ASSERT_EQUAL(f.rank, 2);
    CU_ASSERT_STRING_EQUAL(f.text, "2 of 3 ranks are alike, waiting in poll; rank 2 on b is "
                                   "elsewhere: it is waiting in futex");
    CU_ASSERT_FALSE(stuck_find(ranks + 1, 2, &f));
    ranks[1] = at("a", "", "running");
    CU_ASSERT_FALSE(stuck_find(ranks, 3, &f));
    ranks[1] = ranks[2] = ranks[0];
    CU_ASSERT_FALSE(stuck_find(ranks, 3, &f));
}

/* If no stack could be read, the kernel functions that threads wait in tell the late rank apart.
 * One rank that has ended and one of unknown waits leave too few to compare. */
static void one_that_waits_elsewhere_is_named(void) {
    struct stuck_finding f;
    struct stuck_rank ranks[] = {{.host = "a"}, {.host = "a"}, {.host = "b"}, {.host = "b"}};
    for (size_t i = 0; i < 4; i++)
        ranks[i].waits =
            i == 2 ? "pid 3 sh: 1 S pipe_read (0)" : "pid 1 sh: 1 S futex_do_wait (202)";
    CU_ASSERT_TRUE(stuck_find(ranks, 4, &f));
    CU_ASSERT_EQUAL(f.rank, 2);
    CU_ASSERT_EQUAL(f.other, 0);
    CU_ASSERT_STRING_EQUAL(f.text, "b rank 2 waits elsewhere than all others: was it left out of a "
                                   "collective?");
    ranks[3].ended = true;
    ranks[0].waits = NULL;
    CU_ASSERT_FALSE(stuck_find(ranks, 4, &f));
    CU_ASSERT(f.rank == -1 && f.other == -1);
    ranks[0] = at("a", "barrier", ""); /* a stack tells more */
    CU_ASSERT_TRUE(stuck_find(ranks, 4, &f));
    CU_ASSERT(f.rank == 1 && f.other == -1);
}

/* R, which has not ended since it met EXCEPTION. */
static struct stuck_rank after(struct stuck_rank r, const char *exception) {
    (void)snprintf(r.exception, sizeof(r.exception), "%s", exception);
    return r;
}

/* As a rank does that cannot exit because a thread has not ended. An exception that all ranks have
 * met, or that did not keep its rank from coming, sets none apart. */
static void a_rank_that_has_not_ended_after_its_exception_is_named(void) {
    struct stuck_finding f;
    struct stuck_rank ranks[] = {at("a", "all_reduce", ""), at("b", "", "futex"),
                                 after(at("c", "", "sleep"), "KeyError: 7 (train.py, line 3)")};
    CU_ASSERT_TRUE(stuck_find(ranks, 3, &f));
    CU_ASSERT_EQUAL(f.rank, 2); /* rather than the first that has not come */
    CU_ASSERT_STRING_EQUAL(
        f.text, "1 of 3 ranks wait in all_reduce; ranks 1 and 2 on b, c have not come: of "
                "rank 2, it has not ended after its exception, KeyError: 7 (train.py, line "
                "3); it is at sleep");
    ranks[0] = ranks[1]; /* where nothing else sets it apart */
    ranks[2] = after(at("c", "", "futex"), "KeyError: 7");
    CU_ASSERT_TRUE(stuck_find(ranks, 3, &f));
    CU_ASSERT_EQUAL(f.rank, 2);
    CU_ASSERT_STRING_EQUAL(f.text,
                           "rank 2 on c: it has not ended after its exception, KeyError: 7; "
                           "it is at futex");
    ranks[1] = ranks[2];
    CU_ASSERT_TRUE(stuck_find(ranks, 3, &f));
    ASSERT_CONTAINS(f.text, "ranks 1 and 2 on c: of rank 1, it has not ended");
    ranks[0] = ranks[2]; /* all have met it: it was caught */
    CU_ASSERT_FALSE(stuck_find(ranks, 3, &f));
    ranks[0] = ranks[1] = at("a", "barrier", "");
    ranks[2] = after(at("c", "barrier", ""), "KeyError: 7"); /* likewise */
    CU_ASSERT_TRUE(stuck_find(ranks, 3, &f));
    CU_ASSERT_STRING_EQUAL(f.text, "all 3 ranks are in barrier, and it does not end");
}

/* Three ranks of which nothing is known, one rank, and none: no finding, and no access beyond the
 * array. */
static void nothing_known_is_nothing(void) {
    struct stuck_finding f;
    const struct stuck_rank ranks[3] = {{.host = "a"}, {.host = "a"}, {.host = "a"}};
    CU_ASSERT_FALSE(stuck_find(ranks, 3, &f));
    CU_ASSERT_FALSE(stuck_find(ranks, 1, &f));
    CU_ASSERT_FALSE(stuck_find(ranks, 0, &f));
}

/* A host's name of 199 characters and 32 late ranks: the text keeps within its size, and the number
 * of those left out is right. */
static void long_lists_are_cut(void) {
    enum { COUNT = 64 };
    struct stuck_rank ranks[COUNT];
    struct stuck_finding f;
    char host[200];
    memset(host, 'h', sizeof(host) - 1);
    host[sizeof(host) - 1] = '\0';
    for (size_t i = 0; i < COUNT; i++)
        ranks[i] = at(i % 2 == 0 ? host : "b", i < 32 ? "barrier" : "", "somewhere");
    CU_ASSERT_TRUE(stuck_find(ranks, COUNT, &f));
    CU_ASSERT(strlen(f.text) < sizeof(f.text));
    ASSERT_CONTAINS(f.text, "32 of 64 ranks wait in barrier; ranks 32, 33, 34, 35, 36, 37 and 26 "
                            "more on hhh");
}

UNIT_SUITE("evidence.stuck", UNIT(the_rank_that_has_not_come_is_named), UNIT(two_ranks_are_enough),
           UNIT(other_operations_are_reported), UNIT(ends_and_silent_hosts_are_distinguished),
           UNIT(all_in_one_operation_is_its_own_case), UNIT(one_elsewhere_among_many_is_named),
           UNIT(one_that_waits_elsewhere_is_named),
           UNIT(a_rank_that_has_not_ended_after_its_exception_is_named),
           UNIT(nothing_known_is_nothing), UNIT(long_lists_are_cut))
