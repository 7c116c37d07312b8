#include "common/metric_line.h"
#include "entrypoint/outcome/pattern.h"
#include "tests/support/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct pattern_room room;

static enum pattern_answer ask(const char *text, const char *line, size_t size) {
    struct pattern p;
    struct error err = {0};
    if (pattern_parse(text, &p, &err) != 0) {
        printf("\n%s: %s\n", text, err.text);
        CU_FAIL_FATAL("an expression is not understood");
    }
    enum pattern_answer answer = pattern_match(&p, line, size, &room);
    pattern_done(&p);
    return answer;
}

static void assert_answer(const char *text, const char *line, bool expected) {
    bool same = ask(text, line, strlen(line)) == (expected ? PATTERN_YES : PATTERN_NO);
    if (!same)
        printf("\n/%s/ on \"%s\": expected %d\n", text, line, expected);
    CU_ASSERT(same);
}

/* What Python 3.11's re.search says of the same. */
static void it_matches_what_python_matches(void) {
    static const struct {
        const char *text;
        const char *line;
        bool matches;
    } rows[] = {
        {"loss: ([0-9\\.]+)", "[algo-1 rank 0] loss: 0.5", true},
        {"loss: ([0-9\\.]+)", "loss: nan", false},
        {"^loss", "[algo-1 rank 0] loss: 0.5", false},
        {"^loss", "loss", true},
        {"loss$", "a loss", true},
        {"loss$", "loss ", false},
        {"\\d+\\.\\d+", "a 1.5", true},
        {"\\d+\\.\\d+", "a 1,5", false},
        {"(?:acc|accuracy)=(.*?);", "accuracy=0.5;", true},
        {"(?:acc|accuracy)=(.*?);", "accurate=0.5;", false},
        {"(?P<v>a|b)c", "xbc", true},
        {"(?<v>a|b)c", "xc", false},
        {"(?i)LOSS=[A-F]", "Loss=e", true},
        {"(?i)LOSS=[A-F]", "Loss=g", false},
        {"a{2,3}b", "xab", false},
        {"a{2,3}b", "xaab", true},
        {"^a{2,3}b", "aaaab", false},
        {"^a{2}$", "aa", true},
        {"^a{2}$", "aaa", false},
        {"^a{,2}$", "", true},
        {"^(ab){2,}$", "abab", true},
        {"^(ab){2,}$", "ab", false},
        {"a{x}", "a{x}", true},
        {"^(a|b|)c$", "c", true},
        {"^(a|b)c$", "c", false},
        {"^(a*)*$", "aaa", true},
        {"^(a*)*$", "aab", false},
        {"^(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", false},
        {"[]a]", "]", true},
        {"[^]a]", "]a", false},
        {"[a-]", "-", true},
        {"[\\d.-]+x", "1.-x", true},
        {"[^\\w]", "aZ_9", false},
        {"[\\s]b", "a\tb", true},
        {"\\bloss\\b", "train_loss", false},
        {"\\bloss\\b", "train loss", true},
        {"\\Bloss", "train_loss", true},
        {"\\Aab\\Z", "ab", true},
        {"\\x41\\t", "A\t", true},
        {"\\[rank 0\\]", "[rank 0]", true},
        {"a.c", "ac", false},
        {"", "", true},
        {"x?y", "y", true},
        {"colou?r=", "color=", true},
        {"(ab)?cd|ef", "ef", true},
        {"(ab)?cd|ef", "abc", false},
        {"\\S+=\\D", "a=1", false},
        {"\\W", "abc", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_answer(rows[i].text, rows[i].line, rows[i].matches);
}

/* What hangs engines that try one way after the other, and fills the memory of those that make
 * states of all. */
static void no_expression_takes_long(void) {
    static char line[1024 * 1024];
    static const char *const hostile[] = {"(a+)+b",     "(a|a)*b",           "(a|b)*a(a|b){200}c",
                                          "(.*)*x",     "a*a*a*a*a*a*a*a*c", "((a{9}){9}){9}b",
                                          "(a?){300}b", ".*.*.*.*.*=.*z"};
    memset(line, 'a', sizeof(line));
    for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
        clock_t began = clock();
        CU_ASSERT_NOT_EQUAL(ask(hostile[i], line, sizeof(line)), PATTERN_YES);
        CU_ASSERT(clock() - began < CLOCKS_PER_SEC / 10);
    }
    CU_ASSERT_EQUAL(ask("(a|a)*$", line, sizeof(line)), PATTERN_COSTLY);
}

static void our_own_definitions_are_understood(void) {
    size_t count = 0;
    const struct metric_definition *ours = metric_line_definitions(&count);
    for (size_t i = 0; i < count; i++) {
        struct pattern p;
        CU_ASSERT_EQUAL(pattern_parse(ours[i].regex, &p, NULL), 0);
        CU_ASSERT(p.literal_size > 0);
        pattern_done(&p);
    }
    assert_answer(ours[0].regex, "[a rank 0] train step=20 epoch=1 loss=2.3e-05 lr=0.1", true);
    assert_answer(ours[0].regex, "[a rank 0] train step=20 epoch=1 lr=0.1", false);
}

UNIT_SUITE("outcome.pattern", UNIT(it_matches_what_python_matches), UNIT(no_expression_takes_long),
           UNIT(our_own_definitions_are_understood))
