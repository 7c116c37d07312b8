#include "common/net/search_list.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

/* All names that NAME is completed to, with a blank between two. */
static const char *completed(const char *text, const char *name) {
    static char all[2 * SEARCH_LIST_SIZE];
    char full[SEARCH_LIST_NAME_SIZE];
    struct search_list list;
    size_t used = 0;
    search_list_read(text, &list);
    all[0] = '\0';
    for (const char *at = list.domains; (at = search_list_next(at, name, full)) != NULL;)
        used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", used > 0 ? " " : "", full);
    return all;
}

static void names_are_completed_in_order(void) {
    static const char pod[] = "search jobs.svc.cluster.local svc.cluster.local cluster.local\n"
                              "nameserver 10.96.0.10\noptions ndots:5\n";
    CU_ASSERT_STRING_EQUAL(completed(pod, "job-0.job"),
                           "job-0.job.jobs.svc.cluster.local. job-0.job.svc.cluster.local. "
                           "job-0.job.cluster.local.");
    CU_ASSERT_STRING_EQUAL(completed("nameserver 10.96.0.10\n", "job-0"), "");
    CU_ASSERT_STRING_EQUAL(completed("", "job-0"), "");
    CU_ASSERT_STRING_EQUAL(completed("search", "job-0"), "");
    CU_ASSERT_STRING_EQUAL(completed("searching a b\n", "job-0"), "");
    CU_ASSERT_STRING_EQUAL(completed("# search a\n;search b\n", "job-0"), "");
}

static void the_last_list_counts(void) {
    CU_ASSERT_STRING_EQUAL(completed("search a b\ndomain c\n", "x"), "x.c.");
    CU_ASSERT_STRING_EQUAL(completed("domain c\nsearch\ta \t b", "x"), "x.a. x.b.");
    CU_ASSERT_STRING_EQUAL(completed("search a b\r\nsearch \nnameserver ::1\n", "x"), "");
}

static void dots_at_the_end_are_no_part_of_a_domain(void) {
    CU_ASSERT_STRING_EQUAL(completed("search . a. b\n", "x"), "x.a. x.b.");
}

static void left_out(const char *text, const char *name, bool expected) {
    struct search_list list;
    search_list_read(text, &list);
    CU_ASSERT_EQUAL(search_list_is_left_out(&list, name), expected);
}

static void what_musl_tries_is_not_tried_again(void) {
    left_out("search a\n", "host", false);
    left_out("search a\n", "host.sub", true);
    left_out("search a\n", "host.sub.", false);
    left_out("search a\n", "", false);
    left_out("search a\noptions ndots:2 timeout:1\n", "host.sub", false);
    left_out("search a\noptions timeout:1 ndots:2\n", "host.sub.org", true);
    left_out("options ndots:0\n", "host", true);
    left_out("options ndots:x\n", "host", true);
    left_out("# options ndots:5\n", "host.sub", true);
}

static void a_line_that_musl_drops_is_read(void) {
    char text[512] = "search ";
    const size_t begun = strlen(text);
    memset(text + begun, 'a', 200);
    (void)snprintf(text + begun + 200, sizeof(text) - begun - 200, " svc.cluster.local %s\n",
                   "and.some.more.bytes.so.that.it.is.long");
    CU_ASSERT_FATAL(strlen(text) - 1 > 254);
    left_out(text, "host", true);
    ASSERT_CONTAINS(completed(text, "host"), " host.svc.cluster.local. host.and.some.more.");
}

static void what_does_not_fit_is_left_out(void) {
    static char text[3 * SEARCH_LIST_SIZE] = "search ";
    static char label[300];
    memset(label, 'l', 260);
    (void)snprintf(text, sizeof(text), "search %s b\n", label);
    CU_ASSERT_STRING_EQUAL(completed(text, "x"), "x.b.");
    label[250] = '\0';
    (void)snprintf(text, sizeof(text), "search %s b\n", label);
    CU_ASSERT_STRING_EQUAL(completed(text, "longer"), "longer.b.");
    size_t used = (size_t)snprintf(text, sizeof(text), "search");
    while (used < 2 * SEARCH_LIST_SIZE)
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, " domain-of-some-length.example");
    CU_ASSERT(strlen(completed(text, "x")) < 2 * SEARCH_LIST_SIZE);
    ASSERT_CONTAINS(completed(text, "x"), "x.domain-of-some-length.example. x.domain-of");
}

UNIT_SUITE("common.net.search_list", UNIT(names_are_completed_in_order), UNIT(the_last_list_counts),
           UNIT(dots_at_the_end_are_no_part_of_a_domain), UNIT(what_musl_tries_is_not_tried_again),
           UNIT(a_line_that_musl_drops_is_read), UNIT(what_does_not_fit_is_left_out))
