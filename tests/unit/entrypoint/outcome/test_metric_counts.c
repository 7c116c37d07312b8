#include "common/cleanup.h"
#include "common/json/json.h"
#include "entrypoint/outcome/metric_counts.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t now;
static int64_t tick; /* that every look at the clock takes */

static int64_t test_clock(void) {
    now += tick;
    return now;
}

static void open_with(struct metric_counts *c, const char *const *rows, size_t count,
                      struct warnings *warnings) {
    static struct requested_metric items[METRIC_DEFINITIONS_MAX];
    const struct metric_definitions list = {.items = items, .count = count};
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(items[i].name, sizeof(items[i].name), "%s", rows[2 * i]);
        (void)snprintf(items[i].regex, sizeof(items[i].regex), "%s", rows[2 * i + 1]);
    }
    metric_counts_open(c, &list, warnings);
    now = 5 * CLOCK_SECOND;
    tick = 0;
    c->now = test_clock;
}

static uint64_t line(struct metric_counts *c, const char *text) {
    uint64_t left_out = 0;
    return metric_counts_line(c, text, strlen(text), &left_out);
}

static void assert_never(const struct metric_counts *c, const char *expected) {
    cleanup_buf struct buf names;
    buf_init(&names, 1 << 16);
    CU_ASSERT_EQUAL(metric_counts_never(c, &names, NULL), 0);
    CU_ASSERT_STRING_EQUAL(buf_text(&names), expected);
}

static const char *const three[] = {"loss",        "loss=(\\d+)", "acc",
                                    "acc=(\\d+)$", "top",         "top=(\\d+)"};

static void matches_are_counted_and_the_first_is_reported(void) {
    struct metric_counts c;
    struct warnings warnings = {0};
    open_with(&c, three, 3, &warnings);
    assert_never(&c, "loss, acc, top");
    CU_ASSERT(!metric_counts_any(&c));
    CU_ASSERT_EQUAL(line(&c, "[a rank 0] loss=1 acc=2\n"), 3);
    CU_ASSERT_EQUAL(line(&c, "[a rank 0] loss=2\n"), 0);
    CU_ASSERT_EQUAL(line(&c, "nothing\n"), 0);
    CU_ASSERT_EQUAL(line(&c, ""), 0);
    CU_ASSERT(metric_counts_any(&c));
    assert_never(&c, "top");
    cleanup_json json_t *json = metric_counts_json(&c);
    cleanup_json json_t *expected = json_pack("{s:{s:i, s:i, s:i}, s:i, s:i}", "counts", "loss", 2,
                                              "acc", 1, "top", 0, "lines", 4, "unread", 0);
    CU_ASSERT(json_equal(json, expected));
    metric_counts_elsewhere(&c, "nobody's");
    metric_counts_elsewhere(&c, "top");
    assert_never(&c, "");
    CU_ASSERT_EQUAL(warnings.count, 0);
    metric_counts_done(&c);
}

static void one_that_is_not_understood_is_left_out_with_a_word(void) {
    static const char *const rows[] = {"bad", "a\\q", "good", "loss"};
    struct metric_counts c;
    struct warnings warnings = {0};
    open_with(&c, rows, 2, &warnings);
    CU_ASSERT_EQUAL(warnings.count, 1);
    CU_ASSERT_STRING_EQUAL(warnings.text[0],
                           "metric bad is not counted: its regular expression is "
                           "invalid: a backslash before a letter that it gives no "
                           "meaning at offset 1");
    CU_ASSERT_EQUAL(line(&c, "loss\n"), 2);
    assert_never(&c, "");
    metric_counts_done(&c);
}

static void one_that_takes_too_long_is_left_out(void) {
    static char longest[METRIC_COUNTS_HEAD];
    static const char *const rows[] = {"slow", "(a|b)*a(a|b){200}[cd]", "fast", "aaa"};
    struct metric_counts c;
    uint64_t left_out = 0;
    open_with(&c, rows, 2, NULL);
    memset(longest, 'a', sizeof(longest));
    CU_ASSERT_EQUAL(metric_counts_line(&c, longest, sizeof(longest), &left_out), 2);
    CU_ASSERT_EQUAL(left_out, 1);
    CU_ASSERT_EQUAL(metric_counts_line(&c, longest, sizeof(longest), &left_out), 0);
    CU_ASSERT_EQUAL(left_out, 0);
    assert_never(&c, "");
    metric_counts_done(&c);
}

static void only_the_head_of_a_line_is_looked_at(void) {
    static char longest[METRIC_COUNTS_HEAD + 100];
    struct metric_counts c;
    uint64_t left_out = 0;
    open_with(&c, three, 3, NULL);
    memset(longest, ' ', sizeof(longest));
    memcpy(longest + METRIC_COUNTS_HEAD - 5, "loss=1", 6);
    CU_ASSERT_EQUAL(metric_counts_line(&c, longest, sizeof(longest), &left_out), 0);
    memcpy(longest + METRIC_COUNTS_HEAD - 6, "loss=1", 6);
    CU_ASSERT_EQUAL(metric_counts_line(&c, longest, sizeof(longest), &left_out), 1);
    metric_counts_done(&c);
}

static void a_second_gives_it_a_share(void) {
    struct metric_counts c;
    open_with(&c, three, 3, NULL);
    tick = METRIC_COUNTS_SHARE / 2;
    for (int i = 0; i < 5; i++)
        (void)line(&c, "loss=1\n");
    CU_ASSERT_EQUAL(c.lines, 2);
    CU_ASSERT_EQUAL(c.unread, 3);
    now += CLOCK_SECOND;
    (void)line(&c, "loss=1\n");
    CU_ASSERT_EQUAL(c.lines, 3);
    CU_ASSERT_EQUAL(c.items[0].matches, 3);
    metric_counts_done(&c);
}

/* Nobody has asked for those of our trainer: what did not match is none of a program's business. */
static void without_a_list_our_trainers_are_counted(void) {
    struct metric_counts c;
    open_with(&c, NULL, 0, NULL);
    CU_ASSERT(!c.asked);
    (void)line(&c, "[a rank 0] train step=1 epoch=1 loss=2 lr=0.1\n");
    cleanup_json json_t *json = metric_counts_json(&c);
    cleanup_json json_t *expected = json_pack("{s:i, s:i}", "train:loss", 1, "train:lr", 1);
    CU_ASSERT(json_equal(json_object_get(json, "counts"), expected));
    metric_counts_done(&c);
}

/* Prints what a line of 1 MB costs in the loop, of the processor: its head is looked at, by all
 * that we have. */
static void a_line_of_a_megabyte_costs_little(void) {
    static char longest[1024 * 1024];
    struct metric_counts c;
    uint64_t left_out = 0;
    open_with(&c, NULL, 0, NULL);
    memset(longest, 'x', sizeof(longest));
    memcpy(longest, "train step=1 eval epoch=", 24);
    clock_t began = clock();
    CU_ASSERT_EQUAL(metric_counts_line(&c, longest, sizeof(longest), &left_out), 0);
    double took = (double)(clock() - began) / CLOCKS_PER_SEC;
    printf("\n    a line of 1 MB: %.0f us\n", took * 1e6);
    CU_ASSERT(took < 0.25);
    metric_counts_done(&c);
}

static void zeroed_it_counts_nothing(void) {
    struct metric_counts c = {0};
    CU_ASSERT_EQUAL(line(&c, "loss=1\n"), 0);
    CU_ASSERT(!metric_counts_any(&c));
    metric_counts_done(&c);
}

UNIT_SUITE("outcome.metric_counts", UNIT(matches_are_counted_and_the_first_is_reported),
           UNIT(one_that_is_not_understood_is_left_out_with_a_word),
           UNIT(one_that_takes_too_long_is_left_out), UNIT(only_the_head_of_a_line_is_looked_at),
           UNIT(a_second_gives_it_a_share), UNIT(without_a_list_our_trainers_are_counted),
           UNIT(a_line_of_a_megabyte_costs_little), UNIT(zeroed_it_counts_nothing))
