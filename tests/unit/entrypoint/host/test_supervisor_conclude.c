#include "common/clock.h"
#include "common/log/log.h"
#include "entrypoint/host/observe/output_lock.h"
#include "entrypoint/host/supervisor.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static char said[4096];

static void keep_words(void *context, const char *line, size_t size) {
    size_t length = strlen(said);
    (void)context;
    (void)snprintf(said + length, sizeof(said) - length, "%.*s", (int)size, line);
}

/* What the second of two hosts says of VERDICT, where so many lines of its own were dropped and
 * some may still WAIT. */
static const char *conclude_with(const struct verdict *verdict, uint64_t dropped,
                                 const char *waits) {
    static struct cluster_host hosts[2];
    static struct job job;
    static struct supervisor s;
    job = (struct job){.cluster = {.hosts = hosts, .count = 2, .self = 1}};
    s = (struct supervisor){.job = &job, .console = {.dropped_ever = dropped}};
    supervisor_share(&s);
    s.host.services = &s.services;
    buf_init(&s.console.lines.bytes, 64);
    CU_ASSERT_EQUAL(buf_add_text(&s.console.lines.bytes, waits, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(loop_init(&s.loop, NULL), 0);
    failure_writer_open(&s.failure, &s.reaper, unit_temp_dir());
    said[0] = '\0';
    struct log_sink before = log_set_sink((struct log_sink){.put = keep_words});
    supervisor_conclude(&s, verdict);
    failure_writer_close(&s.failure);
    output_lock_end();
    (void)log_set_sink(before);
    buf_done(&s.console.lines.bytes);
    loop_done(&s.loop);
    return said;
}

/* The same of a rank of HOST. */
static const char *conclude(int on_host, uint64_t dropped, const char *waits) {
    struct verdict verdict = {.code = 42, .host = on_host, .rank = 1, .class_name = "program"};
    (void)snprintf(verdict.text, sizeof(verdict.text), "rank 1: exited with 42");
    (void)snprintf(verdict.log_tail, sizeof(verdict.log_tail), "before it\nthe cause\n");
    return conclude_with(&verdict, dropped, waits);
}

static void a_stop_that_was_asked_for_is_no_error(void) {
    struct verdict verdict = {.code = EXIT_CODE_STOPPED, .rank = -1, .class_name = "stopped"};
    (void)snprintf(verdict.text, sizeof(verdict.text), "stopped on request at vm");
    const char *words = conclude_with(&verdict, 0, "");
    ASSERT_CONTAINS(words, " info ");
    ASSERT_CONTAINS(words, "stopped: stopped on request at vm; leaving with 143\n");
    CU_ASSERT_PTR_NULL(strstr(words, " error "));
    (void)snprintf(verdict.log_tail, sizeof(verdict.log_tail), "vm rank 0: exited with 3");
    words = conclude_with(&verdict, 0, "");
    ASSERT_CONTAINS(words, " warning stopped: ");
    ASSERT_CONTAINS(words, "  | vm rank 0: exited with 3\n");
    CU_ASSERT_PTR_NULL(strstr(words, " error "));
    verdict.rank = 0; /* a rank's own word, which nobody asked for */
    ASSERT_CONTAINS(conclude_with(&verdict, 0, ""), " error ");
}

static void another_hosts_ranks_last_words_are_reported(void) {
    const char *words = conclude(0, 0, "");
    ASSERT_CONTAINS(words, "program: rank 1: exited with 42; leaving with 42\n");
    ASSERT_CONTAINS(words, "  | before it\n");
    ASSERT_CONTAINS(words, "  | the cause\n");
    CU_ASSERT_PTR_NULL(strstr(conclude(1, 0, ""), "the cause"));
}

static void its_own_ranks_are_told_where_they_may_be_missing(void) {
    ASSERT_CONTAINS(conclude(1, 1, ""), "  | the cause\n");
    ASSERT_CONTAINS(conclude(1, 0, "unread\n"), "  | the cause\n");
}

static bool gone; /* all other hosts */
static bool owed; /* to one of them, the verdict */

static bool may_leave(void *state) {
    (void)state;
    return gone;
}

static bool must_stay(void *state) {
    (void)state;
    return owed;
}

/* Whether a host leaves at once when its processes are gone; with OVERDUE, when its time is up,
 * too. */
static bool leaves(bool others_gone, bool one_is_owed, bool overdue) {
    static const struct role role = {.may_leave = may_leave, .must_stay = must_stay};
    struct supervisor s = {.role = &role, .judged = true, .swept = true, .overdue = overdue};
    gone = others_gone;
    owed = one_is_owed;
    CU_ASSERT_EQUAL_FATAL(loop_init(&s.loop, NULL), 0);
    supervisor_may_leave(&s);
    bool result = s.loop.ended;
    loop_done(&s.loop);
    return result;
}

static void who_is_owed_the_verdict_is_waited_for_beyond_the_usual_time(void) {
    CU_ASSERT(leaves(true, false, false));
    CU_ASSERT_FALSE(leaves(false, false, false));
    CU_ASSERT(leaves(false, false, true));
    CU_ASSERT_FALSE(leaves(false, true, true));
    CU_ASSERT_FALSE(leaves(true, true, false)); /* its link is lost, and it may come again */
}

UNIT_SUITE("host.supervisor_conclude", UNIT(a_stop_that_was_asked_for_is_no_error),
           UNIT(another_hosts_ranks_last_words_are_reported),
           UNIT(its_own_ranks_are_told_where_they_may_be_missing),
           UNIT(who_is_owed_the_verdict_is_waited_for_beyond_the_usual_time))
