#include "entrypoint/outcome/pattern.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static void assert_refused(const char *text, const char *why) {
    struct pattern p;
    struct error err = {0};
    CU_ASSERT_EQUAL(pattern_parse(text, &p, &err), -1);
    CU_ASSERT_PTR_NULL(p.code);
    if (strstr(err.text, why) == NULL)
        printf("\n%s: %s\n", text, err.text);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, why));
}

static void what_cannot_be_walked_is_refused_by_name(void) {
    static char deep[PATTERN_TEXT_MAX];
    static char longest[PATTERN_TEXT_MAX + 2];
    assert_refused("(a)\\1", "a back-reference at character 5");
    assert_refused("a(?=b)", "a look-around");
    assert_refused("(?<!b)a", "a look-around");
    assert_refused("(?P=x)", "a look-around");
    assert_refused("a++", "possessive");
    assert_refused("a**", "nothing to repeat");
    assert_refused("*", "nothing to repeat");
    assert_refused("(a", "without its ')'");
    assert_refused("a)", "without its '('");
    assert_refused("[a", "without its ']'");
    assert_refused("[b-a]", "a range");
    assert_refused("a{3,2}", "a repetition");
    assert_refused("a\\", "a backslash");
    assert_refused("\\p", "a letter that means nothing");
    assert_refused("(?P<x", "a name without");
    assert_refused("(((a{99}){99}){99})", "repeats too much");
    memset(deep, '(', sizeof(deep) - 1);
    assert_refused(deep, "too many '('");
    memset(longest, 'a', sizeof(longest) - 1);
    assert_refused(longest, "longer than");
}

static void a_line_without_what_must_be_there_costs_a_search(void) {
    static const struct {
        const char *text;
        const char *literal;
    } rows[] = {{"train step=.* loss=([0-9.]+)", "train step="},
                {"a.*loss: (x|y)", "loss: "},
                {"(a|bc)def", "def"},
                {"ab+c", "ab"},
                {"(abc)?d", "d"},
                {"(abc)*de", "de"},
                {"ab|cd", ""},
                {"(a|b)", ""},
                {"(abc){2}", "abcabc"},
                {"(?i)abc", ""},
                {"((abcd|e)|f)g", "g"},
                {"(abcd|)ef", "ef"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pattern p;
        CU_ASSERT_EQUAL_FATAL(pattern_parse(rows[i].text, &p, NULL), 0);
        CU_ASSERT_EQUAL(p.literal_size, strlen(rows[i].literal));
        CU_ASSERT_EQUAL(memcmp(p.literal, rows[i].literal, strlen(rows[i].literal)), 0);
        pattern_done(&p);
    }
}

UNIT_SUITE("outcome.pattern_parse", UNIT(what_cannot_be_walked_is_refused_by_name),
           UNIT(a_line_without_what_must_be_there_costs_a_search))
