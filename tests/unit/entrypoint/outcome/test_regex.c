#include "common/text/metric_line.h"
#include "entrypoint/outcome/metric_counts.h"
#include "entrypoint/outcome/regex.h"
#include "tests/support/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static enum regex_answer ask(const char *text, const char *line, size_t size) {
    struct regex r;
    struct error err = {0};
    struct regex_scratch *scratch = regex_scratch_new();
    CU_ASSERT_PTR_NOT_NULL_FATAL(scratch);
    if (regex_compile(text, &r, &err) != 0) {
        printf("\n%s: %s\n", text, err.text);
        CU_FAIL_FATAL("an expression is not understood");
    }
    enum regex_answer answer = regex_match(&r, line, size, scratch);
    regex_done(&r);
    regex_scratch_free(scratch);
    return answer;
}

static void assert_answer(const char *text, const char *line, bool expected) {
    bool same = ask(text, line, strlen(line)) == (expected ? REGEX_YES : REGEX_NO);
    if (!same)
        printf("\n/%s/ on \"%s\": expected %d\n", text, line, expected);
    CU_ASSERT(same);
}

/* The expected results are those of Python 3.11's re.search. */
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
        {"^(a+)+$", "aaaaab", false},
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
        {"(a)\\1", "xaa", true},
        {"(a)\\1", "xab", false},
        {"(?P<q>['\"])x(?P=q)", "'x'", true},
        {"(?P<q>['\"])x(?P=q)", "'x\"", false},
        {"(a)?b\\1", "b", false},
        {"loss(?=:)", "loss:", true},
        {"loss(?!:)", "loss:", false},
        {"(?<!train_)loss", "train_loss", false},
        {"(?<=train_)loss", "train_loss", true},
        {"a++b", "aab", true},
        {"a++ab", "aab", false},
        {"(?>a|ab)c", "abc", false},
        {"(a)?(?(1)b|c)", "c", true},
        {"^(?(1)b|c)(a)", "ba", false},
        {"(?s:.)x", "\rx", true},
        {"^a{,}$", "", true},
        {"^a{,}$", "aaa", true},
        {"^[a{,2}]+$", "a{2,}", true},
        {"a\\{,2}$", "a{,,", false},
        {"a\\{,2}$", "a{,2}", true},
        {"^[[:alpha:]+$", "al[:p", true},
        {"^[[:alpha:]]$", "a]", true},
        {"^[[:alpha:]]$", "a", false},
        {"\\v", "\v", true},
        {"\\v", "\r", false},
        {"[\\v]", "\f", false},
        {"[\\b]", "\b", true},
        {"\\101", "A", true},
        {"\\0", "0", false},
        {"\\é", "é", true},
        {"é", "café", true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_answer(rows[i].text, rows[i].line, rows[i].matches);
}

/* A line of the greatest length that is searched. */
static char line[METRIC_COUNTS_HEAD];

static void no_expression_takes_long(void) {
    static const char *const hostile[] = {
        "(a+)+[bc]",        "(a|a)*[bc]",         "(a|b)*a(a|b){200}[cd]", "(.*)*[xy]",
        "((a?){9}){9}[bc]", "a*a*a*a*a*a*a*[cd]", "(?:a(?=a*[bc])|a)*d|e", "(a*+a|a)+[bc]",
        "(?R)?a[bc]",       "(\\w+\\s?)*[!?]$",   "(a*)(?:\\1a?)*[bc]",    "(?i)(A*)*\\1[BC]",
        "^(a+)+$|b",
    };
    memset(line, 'a', sizeof(line));
    line[sizeof(line) - 1] = '.';
    for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
        clock_t began = clock();
        enum regex_answer answer = ask(hostile[i], line, sizeof(line));
        CU_ASSERT(clock() - began < CLOCKS_PER_SEC / 10);
        if (answer != REGEX_COSTLY)
            printf("\n/%s/: answer %d\n", hostile[i], answer);
        CU_ASSERT_EQUAL(answer, REGEX_COSTLY);
    }
}

/* Expressions that are not hostile get an answer even on a line without a space. */
static void a_long_line_is_answered(void) {
    memset(line, 'a', sizeof(line));
    CU_ASSERT_EQUAL(ask("(\\w+)[:=]", line, sizeof(line)), REGEX_NO);
    CU_ASSERT_EQUAL(ask(".*(\\w+): [0-9.]+", line, sizeof(line)), REGEX_NO);
    CU_ASSERT_EQUAL(ask("(a|b)*$", line, sizeof(line)), REGEX_YES);
}

/* Sanitizers hold back freed memory and need shadow memory. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { OVERHEAD = 64 };
#else
enum { OVERHEAD = 1 };
#endif

/* A group inside another one takes a backtracking point, and memory, for each byte. */
static void depth_and_memory_are_bounded(void) {
    static char longest[512 * 1024];
    struct rusage before;
    struct rusage after;
    memset(longest, 'a', sizeof(longest));
    CU_ASSERT_EQUAL(getrusage(RUSAGE_SELF, &before), 0);
    CU_ASSERT_EQUAL(ask("(a|b)*$", longest, sizeof(longest)), REGEX_COSTLY);
    CU_ASSERT_EQUAL(ask("^((((((((a|b)|c)|d)|e)|f)|g)|h)|i)*$", longest, sizeof(longest)),
                    REGEX_COSTLY);
    CU_ASSERT_EQUAL(getrusage(RUSAGE_SELF, &after), 0);
    CU_ASSERT(after.ru_maxrss - before.ru_maxrss < 4L * OVERHEAD * REGEX_HEAP_MAX);
}

/* The error texts are PCRE2's and differ between its versions. */
static void what_is_wrong_is_reported_with_its_offset(void) {
    static const struct {
        const char *text;
        const char *word;
    } rows[] = {
        {"(a", "parenthesis"},
        {"a)", "parenthesis"},
        {"[a", "character class"},
        {"[b-a]", "range out of order"},
        {"a{3,2}", "out of order"},
        {"a{70000}", "too big"},
        {"*", "quantifier"},
        {"a**", "quantifier"},
        {"(?<=a*)b", "lookbehind"},
        {"(a)\\2", "non-existent"},
        {"\\v{,2}[[](?P=x)", "non-existent"}, /* the offset is larger in PCRE2's pattern */
        {"(((a{99}){99}){99})", "too large"},
        {"\\Qa", "a backslash before a letter"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct regex r;
        struct error err = {0};
        CU_ASSERT_EQUAL(regex_compile(rows[i].text, &r, &err), -1);
        CU_ASSERT_PTR_NULL(r.code);
        CU_ASSERT_EQUAL(err.code, EXIT_CODE_CONFIG);
        ASSERT_CONTAINS(err.text, rows[i].word);
        const char *at = strstr(err.text, " at offset ");
        CU_ASSERT_PTR_NOT_NULL_FATAL(at);
        CU_ASSERT(strtoul(at + strlen(" at offset "), NULL, 10) <= strlen(rows[i].text));
        regex_done(&r);
    }
}

static void groups_nest_only_so_deep(void) {
    char deep[2 * (REGEX_NEST_MAX + 1) + 1];
    struct regex r;
    struct error err = {0};
    memset(deep, '(', REGEX_NEST_MAX + 1);
    memset(deep + REGEX_NEST_MAX + 1, ')', REGEX_NEST_MAX + 1);
    deep[sizeof(deep) - 1] = '\0';
    CU_ASSERT_EQUAL(regex_compile(deep, &r, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "parentheses are too deeply nested"));
    deep[sizeof(deep) - 2] = '\0';
    CU_ASSERT_EQUAL(regex_compile(deep + 1, &r, &err), 0);
    regex_done(&r);
}

static void our_own_definitions_are_understood(void) {
    size_t count = 0;
    const struct metric_definition *ours = metric_line_definitions(&count);
    for (size_t i = 0; i < count; i++) {
        struct regex r;
        CU_ASSERT_EQUAL(regex_compile(ours[i].regex, &r, NULL), 0);
        regex_done(&r);
    }
    assert_answer(ours[0].regex, "[a rank 0] train step=20 epoch=1 loss=2.3e-05 lr=0.1", true);
    assert_answer(ours[0].regex, "[a rank 0] train step=20 epoch=1 lr=0.1", false);
}

UNIT_SUITE("outcome.regex", UNIT(it_matches_what_python_matches), UNIT(no_expression_takes_long),
           UNIT(a_long_line_is_answered), UNIT(depth_and_memory_are_bounded),
           UNIT(what_is_wrong_is_reported_with_its_offset), UNIT(groups_nest_only_so_deep),
           UNIT(our_own_definitions_are_understood))
