#include "common/cleanup.h"
#include "common/json/json.h"
#include "common/log/log.h"
#include "entrypoint/host/observe/metric_matcher.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static char said[4096];
static char told[4096];

static void hear(void *context, enum log_level level, const char *text) {
    (void)context;
    (void)level;
    (void)snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", text);
}

static void tell(void *context, const char *name) {
    (void)context;
    (void)snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s;", name);
}

static struct requested_metric items[] = {{"loss", "loss=(\\d+)"}, {"acc", "acc=(\\d+)"}};

/* On a busy machine a line may cost more than a second's share. */
static int64_t no_time_passes(void) {
    return CLOCK_SECOND;
}

static void open_job(struct metric_counts *c, const struct job *job) {
    said[0] = '\0';
    told[0] = '\0';
    (void)log_set_listener((struct log_listener){.hear = hear});
    metric_matcher_open(c, job);
    c->now = no_time_passes;
}

static void open_watch(struct metric_counts *c, size_t count, bool events) {
    struct job job = {.metrics = {.items = items, .count = count}, .settings = {.events = events}};
    open_job(c, &job);
}

static void line(struct metric_counts *c, const char *text) {
    metric_matcher_line(c, text, strlen(text), tell, NULL);
}

static void close_watch(struct metric_counts *c) {
    (void)log_set_listener((struct log_listener){0});
    metric_counts_done(c);
}

static void a_metric_that_never_matched_is_named_by_the_first_host(void) {
    struct metric_counts c;
    open_watch(&c, 2, false);
    line(&c, "[a rank 0] loss=1\n");
    line(&c, "[a rank 0] loss=1\n");
    CU_ASSERT_STRING_EQUAL(told, "loss;");
    metric_matcher_conclude(&c, NULL, false);
    CU_ASSERT_STRING_EQUAL(said, "");
    metric_matcher_conclude(&c, NULL, true);
    CU_ASSERT_STRING_EQUAL(said, "metric acc matched 0 times\n");
    close_watch(&c);
}

static void what_another_host_has_seen_was_seen(void) {
    struct metric_counts c;
    cleanup_json json_t *message = json_pack("{s:s}", "name", "acc");
    cleanup_json json_t *odd = json_pack("{s:i}", "name", 1);
    cleanup_json json_t *none = json_object();
    open_watch(&c, 2, false);
    line(&c, "loss=1\n");
    metric_matcher_receive(&c, odd);
    metric_matcher_receive(&c, none);
    metric_matcher_receive(&c, message);
    metric_matcher_conclude(&c, NULL, true);
    CU_ASSERT_STRING_EQUAL(said, "");
    close_watch(&c);
}

static void what_went_unread_may_have_matched(void) {
    struct metric_counts c;
    open_watch(&c, 2, false);
    line(&c, "loss=1\n");
    c.unread = 1;
    metric_matcher_conclude(&c, NULL, true);
    CU_ASSERT_STRING_EQUAL(
        said, "metric acc matched 0 times; some lines were skipped for lack of time\n");
    close_watch(&c);
}

/* This host tells the first one, once. */
static void what_went_unread_elsewhere_may_have_matched(void) {
    struct metric_counts c;
    cleanup_json json_t *message = json_pack("{s:s}", "name", "");
    open_watch(&c, 2, false);
    c.unread = 1;
    line(&c, "loss=1\n");
    line(&c, "loss=1\n");
    CU_ASSERT_STRING_EQUAL(told, ";loss;");
    close_watch(&c);
    open_watch(&c, 2, false);
    line(&c, "loss=1\n");
    metric_matcher_receive(&c, message);
    metric_matcher_conclude(&c, NULL, true);
    CU_ASSERT_STRING_EQUAL(
        said, "metric acc matched 0 times; some lines were skipped for lack of time\n");
    close_watch(&c);
}

/* Then this host cannot know. */
static void one_that_takes_too_long_is_not_called_missing(void) {
    static struct requested_metric slow[] = {{"slow", "(a|b)*a(a|b){200}[cd]"}};
    static char longest[METRIC_COUNTS_HEAD];
    static struct job job = {.metrics = {.items = slow, .count = 1}};
    struct metric_counts c;
    open_job(&c, &job);
    memset(longest, 'a', sizeof(longest) - 1);
    line(&c, longest);
    line(&c, longest);
    CU_ASSERT_STRING_EQUAL(told, "slow;");
    metric_matcher_conclude(&c, NULL, true);
    CU_ASSERT_STRING_EQUAL(
        said, "metric slow is not counted: its regular expression takes too long on a line\n");
    close_watch(&c);
}

/* A job that failed before a rank said a word has other worries. */
static void without_a_line_nothing_is_reported(void) {
    struct metric_counts c;
    open_watch(&c, 2, false);
    metric_matcher_conclude(&c, NULL, true);
    CU_ASSERT_STRING_EQUAL(said, "");
    close_watch(&c);
}

static void our_trainers_are_counted_for_the_event_log_alone(void) {
    struct metric_counts c;
    open_watch(&c, 0, false);
    CU_ASSERT_EQUAL(c.count, 0);
    close_watch(&c);
    open_watch(&c, 0, true);
    line(&c, "train step=1 epoch=1 loss=1 lr=1\n");
    CU_ASSERT(c.count > 0);
    metric_matcher_conclude(&c, NULL, true);
    CU_ASSERT_STRING_EQUAL(said, "");
    CU_ASSERT_STRING_EQUAL(told, "");
    close_watch(&c);
}

UNIT_SUITE("host.metric_matcher", UNIT(a_metric_that_never_matched_is_named_by_the_first_host),
           UNIT(what_another_host_has_seen_was_seen), UNIT(what_went_unread_may_have_matched),
           UNIT(what_went_unread_elsewhere_may_have_matched),
           UNIT(one_that_takes_too_long_is_not_called_missing),
           UNIT(without_a_line_nothing_is_reported),
           UNIT(our_trainers_are_counted_for_the_event_log_alone))
